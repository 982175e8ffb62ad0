import { setTimeout as delay } from 'node:timers/promises';
import { command, inSeconds, type Shell, type ShellCommand } from './command';
import { type Answer, cell, note } from './output';
import { findUser } from './users';

/** Longer than a transaction of the service may last: events appear when their transaction ends. */
const overlapMs = 20_000;
const pollMs = 2_000;
/** Begins before now if there is no event yet, because the clock of the service may be behind. */
const withoutEventsSeconds = 3_600;
const linesBefore = 10;

/** Commands that follow a list until Ctrl+C. */
export const tailCommands: ShellCommand[] = [
  command(
    'audit tail',
    'follow the audit log, from its last 10 events on',
    '--since 1h --type login.failed,login.locked --json',
    ['since', 'type', 'user'],
    tailAudit,
  ),
  command(
    'change tail',
    'follow the change feed, from now on',
    '--since 1h --type user.changed --json',
    ['since', 'after', 'type'],
    tailChanges,
  ),
];

async function* tailChanges({ identity, options, signal }: Shell): AsyncGenerator<Answer> {
  const { since, type: type_in } = options;
  const now = () => identity.users.list({ per_page: 1, count: 'none' }, { signal });
  let after = options.after ?? (since === undefined ? (await now()).changes_cursor : undefined);
  const { reportOutage } = await import('./api.js');
  try {
    const feed = { after, per_page: 1_000, signal, onError: reportOutage, ...(type_in && { type_in }) };
    for await (const { items, next_cursor } of identity.changes.follow(feed)) {
      for (const change of items) {
        if (since !== undefined && new Date(change.occurred_at) < since) continue;
        const { occurred_at, type, target_type, target_id, carrier_id, fields } = change;
        yield line(change, [occurred_at, type, `${target_type} ${target_id}`, carrier_id, fields]);
      }
      after = next_cursor;
    }
  } finally {
    if (after !== undefined) note(`To continue here: --after ${after}`);
  }
}

/** The audit log has no cursor for later events. Each request reads the last seconds again. */
async function* tailAudit({ identity, options, signal }: Shell): AsyncGenerator<Answer> {
  const filter = await filterOf({ identity, options, signal });
  const { reportOutage } = await import('./api.js');
  const seen = new Map<string, number>();
  let from = options.since;
  for (;;) {
    const latest = from === undefined;
    const order = latest
      ? ({ per_page: linesBefore, order_dir: 'desc' } as const)
      : ({ per_page: 500, order_dir: 'asc', ...(from && { occurred_at_gte: from.toISOString() }) } as const);
    try {
      const pages = identity.audit.list({ ...filter, ...order, order_by: 'occurred_at', count: 'none' }, { signal });
      for await (const event of latest ? (await pages).items.reverse() : pages) {
        const at = Date.parse(event.occurred_at);
        from ??= new Date(at);
        if (seen.has(event.event_id)) continue;
        seen.set(event.event_id, at);
        for (const [id, time] of seen) {
          if (time >= at - overlapMs) break;
          seen.delete(id);
          from = new Date(Math.max(from.getTime(), at - overlapMs));
        }
        const { occurred_at, event_type, target_type, target_id, actor_type, actor_id, ip } = event;
        const [target, actor] = [`${cell(target_type)} ${cell(target_id)}`, `by ${actor_type} ${cell(actor_id)}`];
        yield line(event, [occurred_at, event_type, target, actor, ip]);
      }
      from ??= inSeconds(-withoutEventsSeconds);
    } catch (error) {
      if (signal.aborted) throw error;
      reportOutage(error);
    }
    await delay(pollMs, undefined, { signal });
  }
}

async function filterOf({ identity, options: { type, user } }: Shell) {
  return {
    ...(type && { event_type_in: type }),
    ...(user !== undefined && { target_id: (await findUser(identity, user)).user_id }),
  };
}

function line(json: object, [time, type, ...more]: unknown[]): Answer {
  return { json, text: [cell(time), cell(type).padEnd(24), ...more.map(cell)].join('  ') };
}
