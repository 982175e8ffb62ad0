import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { type Actor } from '../access/actor';
import { holds } from '../access/permissions';
import { changeFilter } from '../audit/changes/change-query';
import { type ChangeRecord, placeOf } from '../audit/changes/changes.dto';
import { ChangesService } from '../audit/changes/changes.service';
import { RememberedActorsService } from '../auth/tokens/remembered-actors.service';
import { AppError } from '../http/errors/app-error';
import { parseConditions } from '../http/lists/filter';
import { currentTime, monotonicMs } from '../platform/clock';
import { CONFIG, type Config } from '../platform/config/config';
import { runsJobs } from '../platform/instance';
import { JobsService } from '../platform/jobs/jobs.service';
import { RetentionService } from '../platform/jobs/retention.service';
import { MetricsService } from '../platform/metrics/metrics.service';
import { newId } from '../platform/random';
import { inNewTrace } from '../platform/tracing/spans';
import { within } from '../platform/within';
import { Slots } from './slots';
import { type ClaimedWebhook, type WaitingDelivery, WebhookRunsRepository } from './webhook-runs.repository';
import { WebhookSecrets } from './webhook-secrets';
import { WebhookTransport } from './webhook-transport';
import { deliveriesSent, showWebhooks, webhookGauges } from './webhooks.metrics';
import { WebhooksService } from './webhooks.service';

const pollMs = 250;
/** Requests at once per instance. */
const requestsMax = 50;
/** A request that takes longer moves to a slot for slow requests, if one is free. */
const slowMs = 500;
/** The claim lasts 15 s and a request 10 s: later, the claim is renewed before a request. */
const renewAfterMs = 4_000;
/** Statements at once: webhooks must leave most database connections to requests. */
const statementsMax = 2;
const pageMax = 100;
/** Time after which a webhook with more changes to send gives its slot to others. */
const sliceMs = 5_000;
const firstRetrySeconds = 5;
const retrySecondsMax = 3_600;
const failingSecondsMax = 3 * 86_400;
const stopTimeoutMs = 4_000;
/** Characters that are stored of the response to a successful request. */
const storedOfSuccess = 1_024;
const deliveryDays = 7;
const deliveriesPerWebhook = 10_000;
const removedPerBatch = 5_000;

/** The body of a request and the id of what it reports. */
interface Message {
  id: string;
  type: string;
  timestamp: string;
  data: object;
}

/** The work on a claimed webhook. */
interface Run {
  /** the group of slots in which the run holds one */
  slots: Slots;
  /** time just before the last claim or renewal, by `monotonicMs` */
  claimedAt: number;
}

/**
 * Sends the requests of webhooks: one at a time per webhook, in the order of the feed, at least
 * once (ADR 17). Claims webhooks in the database, so that any instance continues after a crash.
 * Failing webhooks and slow requests have separate slots, so they do not delay others.
 */
@Injectable()
export class WebhookRunner implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger(WebhookRunner.name);
  private readonly secrets: WebhookSecrets;
  private readonly active = new Slots(requestsMax);
  private readonly slow = new Slots(requestsMax);
  private readonly statements = new Slots(statementsMax);
  private readonly underWay = new Set<Promise<void>>();
  private timer: NodeJS.Timeout | undefined;
  private stopping = false;
  /** whether the last claim failed, so that an outage is logged once */
  private failing = false;

  constructor(
    private readonly runs: WebhookRunsRepository,
    private readonly webhooks: WebhooksService,
    private readonly changes: ChangesService,
    private readonly actors: RememberedActorsService,
    private readonly transport: WebhookTransport,
    private readonly jobs: JobsService,
    private readonly retention: RetentionService,
    metrics: MetricsService,
    @Inject(CONFIG) config: Config,
  ) {
    this.secrets = new WebhookSecrets(config);
    metrics.sample(webhookGauges, () => this.runs.count(), showWebhooks);
    this.jobs.every('27 * * * *', 'remove-old-deliveries', () => this.removeOld());
  }

  onApplicationBootstrap(): void {
    if (runsJobs) this.schedule(0);
  }

  /** Waits for requests that are under way. Another process sends an unfinished request again. */
  async onModuleDestroy(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.timer);
    await within(
      stopTimeoutMs,
      Promise.all(this.underWay).then(() => undefined),
      () => undefined,
    );
  }

  private schedule(ms: number): void {
    this.timer = setTimeout(() => {
      void this.claim().finally(() => {
        if (!this.stopping) this.schedule(pollMs);
      });
    }, ms).unref();
  }

  private async claim(): Promise<void> {
    try {
      const free = { active: this.active.free, failing: this.slow.free };
      const claimedAt = monotonicMs();
      for (const webhook of await this.runs.claim(free)) this.start(webhook, claimedAt);
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.logger.warn(`webhooks: ${String(error)}`);
      this.failing = true;
    }
  }

  private start(webhook: ClaimedWebhook, claimedAt: number): void {
    const run = { slots: webhook.state === 'failing' ? this.slow : this.active, claimedAt };
    run.slots.take();
    const work = inNewTrace('webhook', {}, {}, () => this.work(run, webhook))
      .catch((error: unknown) => this.logger.warn(`webhook ${webhook.webhook_id}: ${String(error)}`))
      .finally(() => {
        run.slots.give();
        this.underWay.delete(work);
      });
    this.underWay.add(work);
  }

  /** Sends what a webhook has to send, until nothing is left, a request fails or the time is up. */
  private async work(run: Run, claimed: ClaimedWebhook): Promise<void> {
    let webhook = claimed;
    for (const waiting of await this.statements.run(() => this.runs.listWaiting(claimed.webhook_id))) {
      if (this.stopping || webhook.state === 'disabled') break;
      const next = await this.sendWaiting(run, webhook, waiting);
      if (next === null) return;
      webhook = next;
    }
    const until = monotonicMs() + sliceMs;
    while (webhook.is_due && webhook.state !== 'disabled' && !this.stopping && monotonicMs() < until) {
      const next = await this.sendPage(run, webhook);
      if (next === null) return;
      webhook = next;
    }
    await this.statements.run(() => this.runs.release(webhook));
  }

  /** Sends the next changes. Returns the webhook as it is afterwards, or null if its run ends. */
  private async sendPage(run: Run, from: ClaimedWebhook): Promise<ClaimedWebhook | null> {
    const actor = await this.actorOf(from);
    if (actor === null) return null;
    const place = { tx: from.place_tx, event_id: from.place_id, at: from.place_at };
    const conditions =
      from.type_in.length === 0 ? [] : parseConditions({ type_in: from.type_in.join(',') }, changeFilter);
    const page = await this.statements.run(() => this.changes.read(actor, conditions, place, pageMax));
    let webhook = from;
    for (const change of page.changes) {
      if (this.stopping) return webhook;
      const next = await this.sendChange(run, webhook, change, actor);
      if (next === null) return null;
      webhook = next;
      // The settings changed, so the rest of the page may no longer match the webhook.
      if (webhook.updated_at.getTime() !== from.updated_at.getTime()) return webhook;
    }
    if (page.changes.length === pageMax) return webhook;
    await this.statements.run(() => this.runs.release(webhook, page.place));
    return null;
  }

  /** Sends a change. Returns the webhook as it is afterwards, or null if its run ends. */
  private async sendChange(
    run: Run,
    webhook: ClaimedWebhook,
    change: ChangeRecord,
    reader: Actor,
  ): Promise<ClaimedWebhook | null> {
    const actor = await this.actorOf(webhook);
    if (actor === null) return null;
    if (JSON.stringify(actor.carrier_scope) !== JSON.stringify(reader.carrier_scope)) {
      await this.statements.run(() => this.runs.release(webhook));
      return null;
    }
    const attempt = await this.send(run, webhook, await this.messageOf(actor, webhook, change));
    if (attempt === null) return null;
    const retry_seconds = attempt.isDone ? null : retrySeconds(webhook.failures);
    const { isDone, ...result } = attempt;
    const record = { ...result, delivery_id: newId(), change_id: change.change_id, type: change.type };
    run.claimedAt = monotonicMs();
    const next = await this.statements.run(() =>
      this.runs.recordChange(webhook, placeOf(change), record, retry_seconds),
    );
    if (next === null) await this.statements.run(() => this.runs.release(webhook));
    if (isDone || next === null) return next;
    if (attempt.status === 410) await this.webhooks.disableFailed(webhook.webhook_id, 'gone');
    else if (next.failing_seconds > failingSecondsMax) await this.webhooks.disableFailed(webhook.webhook_id, 'failed');
    return null;
  }

  /** Sends a test or retry. Its failure does not change the state of the webhook. */
  private async sendWaiting(
    run: Run,
    webhook: ClaimedWebhook,
    { delivery_id, change_id }: WaitingDelivery,
  ): Promise<ClaimedWebhook | null> {
    const actor = await this.actorOf(webhook);
    if (actor === null) return null;
    const change = change_id === null ? null : await this.statements.run(() => this.changes.find(actor, change_id));
    const message =
      change !== null ? await this.messageOf(actor, webhook, change) : change_id === null ? testOf(webhook) : null;
    const attempt = message === null ? notFound : await this.send(run, webhook, message);
    if (attempt === null) return null;
    run.claimedAt = monotonicMs();
    const record = { ...attempt, delivery_id, change_id, type: message?.type ?? '' };
    const next = await this.statements.run(() => this.runs.recordRequested(webhook, record));
    if (attempt.status === 410) await this.webhooks.disableFailed(webhook.webhook_id, 'gone');
    return next;
  }

  private async messageOf(actor: Actor, { include_values }: ClaimedWebhook, change: ChangeRecord): Promise<Message> {
    const [data] = await this.statements.run(() => this.changes.describe(actor, [change], include_values));
    return { id: change.change_id, type: change.type, timestamp: change.occurred_at, data: data ?? {} };
  }

  /**
   * Sends a request and returns its result, which contains no values of users. Returns null if the
   * webhook is no longer claimed or was changed: another process, or nobody, must send now (W12).
   */
  private async send(run: Run, webhook: ClaimedWebhook, { id, type, timestamp, data }: Message) {
    const body = JSON.stringify({ type, timestamp, data });
    const seconds = Math.floor(currentTime().getTime() / 1_000);
    const request = JSON.stringify({ type, timestamp, data: { ...data, values: undefined } });
    const headers = this.secrets.sign(webhook, id, seconds, body);
    if (headers === null) return { isDone: false, request, ...failureOf('secret_unreadable') };
    if (!(await this.holds(run, webhook))) return null;
    const timer = setTimeout(() => this.moveAside(run), slowMs);
    const answer = await this.transport.post(webhook.url, headers, body).finally(() => clearTimeout(timer));
    const { duration_ms } = answer;
    const isDone = 'status' in answer && answer.status >= 200 && answer.status < 300;
    deliveriesSent.inc({ result: isDone ? 'success' : 'failure' });
    return 'status' in answer
      ? { isDone, request, status: answer.status, error: null, duration_ms, response: textOf(answer, isDone) }
      : { isDone, request, ...failureOf(answer.error, duration_ms) };
  }

  /** Makes sure that the claim lasts for a whole request. */
  private async holds(run: Run, webhook: ClaimedWebhook): Promise<boolean> {
    if (monotonicMs() < run.claimedAt + renewAfterMs) return true;
    run.claimedAt = monotonicMs();
    const renewed = await this.statements.run(() => this.runs.renew(webhook));
    if (renewed?.updated_at.getTime() === webhook.updated_at.getTime()) return this.holds(run, renewed);
    if (renewed !== null) await this.statements.run(() => this.runs.release(renewed));
    return false;
  }

  private moveAside(run: Run): void {
    if (run.slots === this.slow || this.slow.free === 0) return;
    run.slots.give();
    run.slots = this.slow;
    run.slots.take();
  }

  /**
   * Returns the creator of a webhook with current rights, limited to the scope of the webhook.
   * Disables the webhook and returns null if the creator may no longer read what it sends (W9).
   */
  private async actorOf(webhook: ClaimedWebhook): Promise<Actor | null> {
    const { webhook_id, created_by, carrier_scope, include_values } = webhook;
    const origin = { session_id: null, ip: null, request_id: null };
    const requested = { actor_type: 'user' as const, actor_id: created_by, ...origin, permission: 'webhook:manage' };
    try {
      const creator = await this.statements.run(() => this.actors.of(requested));
      const needed = include_values ? ['change:read', 'user:read'] : ['change:read'];
      if (needed.every((one) => holds(creator.permissions, one))) return limited(creator, carrier_scope);
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'access.denied') throw error;
    }
    await this.webhooks.disableFailed(webhook_id, 'creator');
    await this.runs.release(webhook);
    return null;
  }

  private async removeOld(): Promise<void> {
    const remove = () => this.runs.removeOld(deliveryDays, deliveriesPerWebhook, removedPerBatch);
    await this.retention.remove('webhook_deliveries', remove);
  }
}

function failureOf(error: string, duration_ms = 0) {
  return { status: null, error, duration_ms, response: null };
}

/** The change of a retry was removed, or the creator may no longer see it. */
const notFound = { request: null, ...failureOf('change_not_found') };

/** Returns the text to store: less of a success, which nobody reads. */
function textOf({ answer }: { answer: string }, isDone: boolean): string {
  return isDone ? answer.slice(0, storedOfSuccess) : answer;
}

function testOf({ webhook_id }: ClaimedWebhook): Message {
  return { id: newId(), type: 'webhook.test', timestamp: currentTime().toISOString(), data: { webhook_id } };
}

/** Returns an actor with the part of the scope that a webhook is limited to. */
function limited(actor: Actor, scope: string[] | null): Actor {
  if (scope === null) return actor;
  const own = actor.carrier_scope;
  return { ...actor, carrier_scope: own === null ? scope : own.filter((carrier) => scope.includes(carrier)) };
}

/** Doubles from 5 s to an hour. Jitter of up to 20% keeps webhooks from retrying all at once. */
function retrySeconds(failures: number): number {
  const seconds = Math.min(retrySecondsMax, firstRetrySeconds * 2 ** Math.min(failures, 20));
  return seconds * (1 + Math.random() / 5);
}
