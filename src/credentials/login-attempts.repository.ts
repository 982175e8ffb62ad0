import { Injectable } from '@nestjs/common';
import { rawSql, sql, type SqlFragment } from '../common/query/sql';
import { Database } from '../database/database';

/**
 * From this failure on, each locks; before it, so many attempts may be under evaluation as failures
 * are still free.
 */
export const failuresMax = 5;
/** From this failure on only a reset of the password helps (NIST SP 800-63B §3.2.2). */
export const failuresEver = 100;
/**
 * An attempt that is under evaluation for so long belongs to a process that died: it counts as a
 * failure.
 */
const leaseSeconds = 15;
const knownDays = 30;
const forgottenAfterDays = 30;

/** One attempt, as the database knows it. */
export interface AttemptKey {
  attempt_id: string;
  account: string;
  /** the counter it is counted on: a known address, or empty */
  address: string;
}

/** An attempt that wants to begin. */
export interface AttemptRequest {
  attempt_id: string;
  /** one row with the `user_id` of the living user, or none */
  user: SqlFragment;
  /**
   * account of the counter if there is no such user: a keyed hash of the login, or the claimed id
   */
  stranger: string;
  /** where it comes from, as `addressKey` has it; empty = nobody knows */
  address: string;
}

/** What became of an attempt that wanted to begin. */
export interface AttemptState extends AttemptKey {
  let_in: boolean;
  failures: number;
  /** 0 = not locked */
  locked_seconds: number;
}

/** What a wrong password has brought about. */
export interface FailedAttempt {
  failures: number;
  /** when the lock ends that began with it */
  locked_until: Date | null;
}

/**
 * The SQL of the limit per account. Each change is one statement on one row that PostgreSQL locks
 * for it, so that instances and parallel requests cannot pass the limit together
 * (GHSA-7h8m-vrxx-vr4m). Only the clock of the database counts.
 */
@Injectable()
export class LoginAttemptsRepository {
  constructor(private readonly database: Database) {}

  /**
   * The statement that begins an attempt, if there is a place for it, and answers an
   * `AttemptState`; to be part of the one that looks for the user.
   */
  beginSql({ attempt_id, user, stranger, address }: AttemptRequest): SqlFragment {
    const known = sql`case when named.owner is null then ${seemsKnownSql(stranger, address)} else exists (
      select 1 from login_attempts known
      where known.account = named.owner and known.address = ${address}::text and known.known_until > now()) end`;
    const began = sql`jsonb_build_object(${attempt_id}::text, extract(epoch from clock_timestamp()))`;
    const isFree = sql`coalesce(settled.locked_until <= settled.moment, true)
      and (select count(*) from jsonb_object_keys(settled.pending)) < greatest(1, ${failuresMax}::integer - settled.failures)`;
    return sql`insert into login_attempts as counter (account, address, pending, used_on)
      select coalesce(named.owner, ${stranger}::text), case when ${known} then ${address}::text else '' end,
        ${began}, current_date
      from (select (select user_id::text from ${user} found_user) as owner) named
      on conflict (account, address) do update set (failures, locked_until, pending, used_on) = (
        select settled.failures, settled.locked_until, case when ${isFree} then settled.pending || ${began} else settled.pending end, current_date
        from ${settledSql(sql`counter.pending`)} settled)
      returning account, address, ${attempt_id}::text as attempt_id, pending ? ${attempt_id}::text as let_in, failures,
        coalesce(greatest(0, ceil(extract(epoch from locked_until - clock_timestamp()))), 0)::float8 as locked_seconds`;
  }

  /**
   * The statement that clears the counter after a right password, and makes an address known; for
   * each row of `after`, which locks the user.
   */
  passSql({ attempt_id, account, address }: AttemptKey, known_address: string | null, after: SqlFragment): SqlFragment {
    const addresses = [...new Set([address, known_address ?? address])];
    return sql`insert into login_attempts as counter (account, address, known_until, used_on)
      select ${account}::text, address, case when address = ${known_address}::text and address <> '' then now() + ${knownDays}::integer * interval '1 day' end, current_date
      from unnest(${addresses}::text[]) address, ${after} after
      on conflict (account, address) do update set failures = 0, locked_until = null, pending = counter.pending - ${attempt_id}::text,
        known_until = coalesce(excluded.known_until, counter.known_until), used_on = current_date`;
  }

  /** Clears the counter after a right password. */
  async pass(attempt: AttemptKey): Promise<void> {
    await this.database.runPrepared(this.passSql(attempt, null, rawSql('(select 1)')));
  }

  /** Counts a wrong password; null when it was counted already, because it took too long. */
  async fail({ attempt_id, account, address }: AttemptKey): Promise<FailedAttempt | null> {
    const locked_until = lockSql(sql`settled.failures + 1`, sql`settled.moment`);
    const [row] = await this.database
      .runPrepared<FailedAttempt>(sql`update login_attempts counter set (failures, locked_until, pending, used_on) = (
          select settled.failures + 1, ${locked_until}, settled.pending, current_date
          from ${settledSql(sql`counter.pending - ${attempt_id}::text`)} settled)
        where account = ${account}::text and address = ${address}::text and pending ? ${attempt_id}::text
        returning failures, locked_until`);
    return row ?? null;
  }

  /** Gives a place back without counting anything. */
  async release({ attempt_id, account, address }: AttemptKey): Promise<void> {
    await this.database.runPrepared(sql`update login_attempts set pending = pending - ${attempt_id}::text
      where account = ${account}::text and address = ${address}::text and pending ? ${attempt_id}::text`);
  }

  /**
   * Lifts all locks of a user. Attempts under evaluation stay: they are about the password before.
   */
  async clear(user_id: string): Promise<void> {
    await this.database.run(
      sql`update login_attempts set failures = 0, locked_until = null where account = ${user_id}::text`,
    );
  }

  /** Removes the counters of users who are removed for good, and with them where they came from. */
  async remove(user_ids: string[]): Promise<void> {
    await this.database.run(sql`delete from login_attempts where account = any(${user_ids}::text[])`);
  }

  /**
   * Removes some that nobody used for 30 days, save locks for ever of users who are there; returns
   * how many.
   */
  async removeOld(limit: number): Promise<number> {
    const stays = sql`failures >= ${failuresEver}::integer and exists (select 1 from users where users.user_id::text = account and deleted_at is null)`;
    const rows = await this.database
      .run(sql`delete from login_attempts where ctid = any(array(select ctid from login_attempts
      where used_on < current_date - ${forgottenAfterDays}::integer and not (${stays}) limit ${limit}::integer for update skip locked)) returning 1`);
    return rows.length;
  }
}

/**
 * Renders whether a login without a user has a separate counter at an address (L20).
 * Users have one at each address from which they logged in. Without any such user, no login has
 * one.
 * Otherwise one bit of a hash decides, which only the service can compute: `stranger` is keyed.
 * The hash covers a user who is known at the address, not the address itself. Otherwise a user
 * could tell missing logins apart by comparing many of their own addresses.
 */
function seemsKnownSql(stranger: string, address: string): SqlFragment {
  return sql`coalesce((
      select get_byte(sha256(convert_to(${stranger}::text || known.account, 'UTF8')), 0) % 2 = 1
      from login_attempts known
      where known.address = ${address}::text and known.address <> '' and length(known.account) = 36
        and known.known_until > now()
      order by known.account limit 1), false)`;
}

/**
 * The counter as it is at this moment: what a process that died has left under evaluation counts as
 * failures, from the end of its time on.
 */
function settledSql(pending: SqlFragment): SqlFragment {
  const isLost = sql`value::float8 <= extract(epoch from moment) - ${leaseSeconds}::integer`;
  const failures = sql`counter.failures + lost.count`;
  const locked_until = lockSql(failures, sql`to_timestamp(lost.latest + ${leaseSeconds}::integer)`);
  return sql`(select moment, ${failures} as failures, lost.pending,
      case when lost.count = 0 then counter.locked_until else greatest(counter.locked_until, ${locked_until}) end as locked_until
    from (select clock_timestamp() as moment) clock, lateral (
      select coalesce(jsonb_object_agg(key, value::float8) filter (where not (${isLost})), '{}') as pending,
        (count(*) filter (where ${isLost}))::integer as count, max(value::float8) filter (where ${isLost}) as latest
      from jsonb_each_text(${pending})) lost)`;
}

/**
 * When the lock ends that begins with a failure: 30 s at first, doubling to 1 h, and in the end
 * never.
 */
function lockSql(failures: SqlFragment, moment: SqlFragment): SqlFragment {
  return sql`case when ${failures} >= ${failuresEver}::integer then timestamptz '9999-12-31 23:59:59.999Z'
    when ${failures} >= ${failuresMax}::integer then ${moment} + least(3600, 30 * power(2, ${failures} - ${failuresMax}::integer)) * interval '1 second' end`;
}
