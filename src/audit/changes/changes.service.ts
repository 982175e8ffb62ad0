import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { Admission, workOwnerOf } from '../../access/admission';
import { type Horizon, Notifications } from '../../platform/database/notifications.service';
import { MetricsService } from '../../platform/metrics/metrics.service';
import { AppError } from '../../http/errors/app-error';
import { currentTime } from '../../platform/clock';
import { ChangeCursors, isBefore, nilId, type Place } from './change-cursors';
import type { ChangeQuery } from './change-query';
import { ChangeWaits, placeOf, type WaitResult } from './change-waits';
import { behindSeconds } from './changes.metrics';
import { type ChangeListResponse, toChangeResponse } from './changes.dto';
import { ChangesRepository } from './changes.repository';
import type { Answered } from '../../platform/times';

/** A page of the feed, before it is mapped to a response. */
interface FeedPage extends WaitResult {
  /** whether the page ends at the end of the feed */
  isLast: boolean;
}

/** The change feed: events of the audit log without gaps, in the order of their transactions. */
@Injectable()
export class ChangesService {
  private encoded: { horizon: Horizon; cursor: string } | null = null;

  constructor(
    private readonly changes: ChangesRepository,
    private readonly cursors: ChangeCursors,
    private readonly waits: ChangeWaits,
    private readonly admission: Admission,
    private readonly notifications: Notifications,
    metrics: MetricsService,
  ) {
    metrics.sample(
      [behindSeconds],
      async () => [await this.changes.findEnd()],
      ([end]) => behindSeconds.set({ cause: 'transaction' }, end?.held_seconds ?? 0),
    );
  }

  /**
   * Returns the cursor for a copy that is read afterwards: the feed after it has all changes that
   * the copy lacks. Sends no query while notifications arrive.
   */
  async cursorForCopy(): Promise<string> {
    const horizon = this.notifications.horizon ?? (await this.changes.findEnd()).place;
    if (horizon !== this.encoded?.horizon)
      this.encoded = { horizon, cursor: this.cursors.encode({ event_id: nilId, ...horizon }) };
    return this.encoded.cursor;
  }

  /**
   * Returns the next changes that the actor may see, or waits for one.
   * @param gone ends the wait
   * @throws page.cursor_invalid, change.cursor_expired, request.rate_limited
   */
  async list(actor: Actor, query: ChangeQuery, gone: AbortSignal): Promise<Answered<ChangeListResponse>> {
    const { conditions, per_page, wait } = query;
    const signal = AbortSignal.any([gone, AbortSignal.timeout(wait * 1_000)]);
    let place = query.after === undefined ? null : this.cursors.decode(query.after);
    for (;;) {
      const waited = wait > 0 && place !== null ? { actor, conditions, per_page, place } : null;
      const result = waited === null ? null : await this.waits.wait(waited, signal);
      if (result !== null) return this.respond(result, query);
      const page = await this.read(actor, query, place, gone);
      if (page.changes.length > 0 || !page.isLast || wait === 0) return this.respond(page, query);
      // Other callers have the same cursor, so the reader begins there.
      this.waits.startAt(place ?? page.place);
      place = page.place;
    }
  }

  private read(actor: Actor, { conditions, per_page, values }: ChangeQuery, from: Place | null, gone: AbortSignal) {
    const work = async (): Promise<FeedPage> => {
      await this.notifications.assertLease();
      const end = await this.changes.findEnd();
      const after = from ?? (await this.changes.findStart(end.place));
      // The cursor is from another server, or from an old primary with changes that are lost.
      if (isBefore(end.place, after)) throw new AppError('change.cursor_expired');
      const isNarrow = conditions.length > 0 || actor.user_type !== 'system' || actor.carrier_scope !== null;
      const stop = isNarrow ? await this.changes.findStop({ after, until: end.place }) : null;
      const part = { after, until: stop ?? end.place, limit: per_page + 1, values };
      const changes = await this.changes.list(actor, conditions, part);
      const last = changes[per_page - 1];
      if (changes.length > per_page && last !== undefined)
        return { ...pageUntil(placeOf(last)), changes: changes.slice(0, per_page) };
      if (stop !== null) return { ...pageUntil(stop), changes };
      return { changes, place: end.place, behind_seconds: end.held_seconds, isLast: true };
    };
    return this.admission.run(workOwnerOf(actor), work, gone);
  }

  private respond(
    { changes, place, behind_seconds }: WaitResult,
    { values }: ChangeQuery,
  ): Answered<ChangeListResponse> {
    return {
      items: changes.map((change) => toChangeResponse(change, values)) as never,
      next_cursor: this.cursors.encode(place),
      behind_seconds: Math.ceil(behind_seconds),
    };
  }
}

/** Returns a page that further changes follow. */
function pageUntil(place: Place): Omit<FeedPage, 'changes'> {
  const behind_ms = currentTime().getTime() - place.at.getTime();
  return { place, behind_seconds: Math.max(0, behind_ms / 1_000), isLast: false };
}
