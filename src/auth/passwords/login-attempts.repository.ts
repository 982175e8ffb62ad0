import { Inject, Injectable } from '@nestjs/common';
import { rawSql, sql, type SqlFragment } from '../../http/lists/sql';
import { CONFIG, type Config } from '../../platform/config/config';
import { Database } from '../../platform/database/database';
import { isKnownSql, isNewSql, seemsKnownSql } from './known-addresses.sql';

/** A longer attempt belongs to a process that has crashed, and counts as a failure. */
const leaseSeconds = 15;
const knownDays = 30;
const keptDays = 30;
/** End of a permanent lock. */
const forever = rawSql(`timestamptz '9999-12-31 23:59:59.999Z'`);

/** Settings of the account lockout. */
type Lockout = Pick<
  Config,
  'LOCKOUT_THRESHOLD' | 'LOCKOUT_FIRST_SECONDS' | 'LOCKOUT_MAX_SECONDS' | 'LOCKOUT_HARD_LIMIT'
>;

/** Counter of the failures of an account. */
export interface LoginCounter {
  account: string;
  /** known address with a separate counter, or empty */
  address: string;
  /** open attempt that counts on it */
  attempt_id?: string;
}

/** An open attempt. */
export interface LoginAttempt extends LoginCounter {
  attempt_id: string;
  /** start of the attempt, by the clock of the database */
  began_at: Date;
}

/** An attempt to begin. */
export interface AttemptRequest {
  /** id of the user, `codesOf` the user, or a keyed hash of a login without a user */
  account: string;
  /** user whose known addresses have separate counters; null for a login without a user */
  user_id: string | null;
  /** address of the client in the form of `addressKey`; empty if it is unknown */
  address: string;
}

/** State of a counter after an attempt was admitted or rejected. */
export interface AttemptState extends LoginAttempt {
  /** false if no place was free: the password must not be verified */
  admitted: boolean;
  failures: number;
  /** 0 = not locked */
  locked_seconds: number;
}

/** Distinguishes the counter of codes from the counter of passwords. */
const codesPrefix = 'codes:';

/**
 * Returns the account whose counter limits the wrong codes of a user. Passwords have another
 * counter, which a right password or a mailed reset clears (M8).
 */
export function codesOf(user_id: string): string {
  return codesPrefix + user_id;
}

/** Counter of an account after a failure. */
export interface FailedAttempt {
  failures: number;
  /** end of the lock that began with the failure */
  locked_until: Date | null;
}

/** A lockout in force. */
export interface Lock {
  /** whether it locks codes; otherwise it locks passwords */
  of_codes: boolean;
  /** known address that is locked; empty for all unknown addresses */
  address: string;
  failures: number;
  locked_until: Date;
  /** whether it ends only by an unlock or a new password */
  permanent: boolean;
}

/**
 * The SQL of account lockout. Each change is one statement on one row, which PostgreSQL locks.
 * Parallel requests and instances therefore cannot exceed the limit (GHSA-7h8m-vrxx-vr4m).
 * All times come from the clock of the database.
 */
@Injectable()
export class LoginAttemptsRepository {
  constructor(
    private readonly database: Database,
    @Inject(CONFIG) private readonly lockout: Lockout,
  ) {}

  /**
   * Begins an attempt if a place is free. Returns the state of the counter in both cases.
   * Before the first lock, the number of open attempts is limited to the failures that are left.
   */
  async begin(attempt_id: string, { account, user_id, address }: AttemptRequest): Promise<AttemptState> {
    const began = sql`jsonb_build_object(${attempt_id}::text, extract(epoch from clock_timestamp()))`;
    const [row] = await this.database.runPrepared<AttemptState>(sql`
      insert into login_attempts as counter (account, address, pending, used_on)
      select
        ${account}::text,
        case
          when ${user_id}::text is null and ${seemsKnownSql(account, address)} then ${address}::text
          when ${user_id}::text is not null and ${isKnownSql(user_id, address)} then ${address}::text
          else ''
        end,
        ${began},
        current_date
      on conflict (account, address) do update set (failures, locked_until, pending, used_on) = (
        select
          settled.failures,
          settled.locked_until,
          case
            when coalesce(settled.locked_until <= settled.moment, true)
              and (select count(*) from jsonb_object_keys(settled.pending))
                < greatest(1, ${this.lockout.LOCKOUT_THRESHOLD}::integer - settled.failures)
            then settled.pending || ${began}
            else settled.pending
          end,
          current_date
        from ${settledSql(sql`counter.pending`, this.lockout)} settled
      )
      returning
        ${attempt_id}::text as attempt_id,
        account,
        address,
        clock_timestamp() as began_at,
        pending ? ${attempt_id}::text as admitted,
        failures,
        coalesce(greatest(0, ceil(extract(epoch from locked_until - clock_timestamp()))), 0)::float8
          as locked_seconds`);
    return row as AttemptState;
  }

  /**
   * Resets a counter after the right password, and closes its attempt.
   * @param known_address address that gets its own counter for 30 days; null = none
   * @returns whether that address is new, see `isNewSql`
   */
  async pass({ attempt_id = '', account, address }: LoginCounter, known_address: string | null): Promise<boolean> {
    const addresses = [...new Set([address, known_address ?? address])];
    const rows = await this.database.runPrepared<{ is_new: boolean }>(sql`
      insert into login_attempts as counter (account, address, known_until, used_on)
      select
        ${account}::text,
        address,
        case
          when address = ${known_address}::text and address <> '' then now() + ${knownDays}::integer * interval '1 day'
        end,
        current_date
      from unnest(${addresses}::text[]) address
      on conflict (account, address) do update set
        failures = 0,
        locked_until = null,
        pending = counter.pending - ${attempt_id}::text,
        known_until = coalesce(excluded.known_until, counter.known_until),
        used_on = current_date
      returning ${isNewSql(account, known_address)} as is_new`);
    return rows.some(({ is_new }) => is_new);
  }

  /**
   * Gives an address its own counter for 30 days, and resets no counter.
   * @returns whether the address is new, see `isNewSql`
   */
  async know(user_id: string, address: string): Promise<boolean> {
    const [row] = await this.database.runPrepared<{ is_new: boolean }>(sql`
      insert into login_attempts as counter (account, address, known_until, used_on)
      values (${user_id}::text, ${address}::text, now() + ${knownDays}::integer * interval '1 day', current_date)
      on conflict (account, address) do update set
        known_until = excluded.known_until,
        used_on = current_date
      returning ${isNewSql(user_id, address)} as is_new`);
    return row?.is_new ?? false;
  }

  /** Counts a failure. Returns null if the attempt took too long and was counted already. */
  fail({ attempt_id, account, address }: LoginAttempt): Promise<FailedAttempt | null> {
    return this.database.findPrepared<FailedAttempt>(sql`
      update login_attempts counter
      set (failures, locked_until, pending, used_on) = (
        select
          settled.failures + 1,
          ${lockSql(sql`settled.failures + 1`, sql`settled.moment`, this.lockout)},
          settled.pending,
          current_date
        from ${settledSql(sql`counter.pending - ${attempt_id}::text`, this.lockout)} settled
      )
      where account = ${account}::text and address = ${address}::text and pending ? ${attempt_id}::text
      returning failures, locked_until`);
  }

  /**
   * Closes an attempt without counting it. If the attempt was already counted because its lease
   * expired, removes this failure and the lock that the failure started.
   */
  async release({ attempt_id, account, address }: LoginAttempt): Promise<void> {
    const isOpen = sql`pending ? ${attempt_id}::text`;
    await this.database.runPrepared(sql`
      update login_attempts
      set
        pending = pending - ${attempt_id}::text,
        failures = case when ${isOpen} then failures else greatest(0, failures - 1) end,
        locked_until = case
          when ${isOpen} then locked_until
          when failures > ${this.lockout.LOCKOUT_THRESHOLD}::integer
            then least(locked_until, ${lockSql(sql`failures - 1`, sql`clock_timestamp()`, this.lockout)})
        end
      where account = ${account}::text and address = ${address}::text`);
  }

  /**
   * Resets the counters of accounts. Open attempts stay open, because they verify the previous
   * password.
   */
  async clear(accounts: string[]): Promise<void> {
    await this.database.run(sql`
      update login_attempts
      set failures = 0, locked_until = null
      where account = any(${accounts}::text[])`);
  }

  /** Resets the counter of an account that counts the attempts of a user from an address. */
  async clearAt({ account, user_id, address }: AttemptRequest): Promise<void> {
    await this.database.runPrepared(sql`
      update login_attempts
      set failures = 0, locked_until = null
      where account = ${account}::text
        and address = case
          when ${isKnownSql(user_id, address)} then ${address}::text
          else ''
        end`);
  }

  /** Lists the lockouts of a user, at most 100, with those of unknown addresses first. */
  listLocks(user_id: string): Promise<Lock[]> {
    return this.database.run<Lock>(sql`
      select
        account <> ${user_id}::text as of_codes,
        address,
        settled.failures,
        settled.locked_until,
        settled.locked_until = ${forever} as permanent
      from login_attempts counter, lateral ${settledSql(sql`counter.pending`, this.lockout)} settled
      where account in (${user_id}::text, ${codesOf(user_id)}::text)
        and settled.locked_until > settled.moment
      order by address
      limit 100`);
  }

  /** Deletes the counters of accounts, and the addresses in them. */
  async remove(accounts: string[]): Promise<void> {
    await this.database.run(sql`delete from login_attempts where account = any(${accounts}::text[])`);
  }

  /**
   * Deletes counters that were not used for 30 days, and returns their number.
   * Keeps locks, also of missing logins (L22): only permanent locks last that long.
   */
  async removeOld(limit: number): Promise<number> {
    const rows = await this.database.run(sql`
      delete from login_attempts
      where ctid = any(array(
        select ctid
        from login_attempts
        where used_on < current_date - ${keptDays}::integer
          and coalesce(locked_until <= now(), true)
        limit ${limit}::integer
        for update skip locked
      ))
      returning 1`);
    return rows.length;
  }
}

/**
 * Renders the counter at this moment.
 * An attempt whose lease expired counts as a failure at the end of the lease.
 */
function settledSql(pending: SqlFragment, lockout: Lockout): SqlFragment {
  const isLost = sql`value::float8 <= extract(epoch from moment) - ${leaseSeconds}::integer`;
  const failures = sql`counter.failures + lost.count`;
  const lostAt = sql`to_timestamp(lost.latest + ${leaseSeconds}::integer)`;
  return sql`(
          select
            moment,
            ${failures} as failures,
            lost.pending,
            case
              when lost.count = 0 then counter.locked_until
              else greatest(counter.locked_until, ${lockSql(failures, lostAt, lockout)})
            end as locked_until
          from (select clock_timestamp() as moment) clock,
            lateral (
              select
                coalesce(jsonb_object_agg(key, value::float8) filter (where not (${isLost})), '{}') as pending,
                (count(*) filter (where ${isLost}))::integer as count,
                max(value::float8) filter (where ${isLost}) as latest
              from jsonb_each_text(${pending})
            ) lost
        )`;
}

/**
 * Renders the end of the lock after a failure: the first duration, doubled up to the maximum, and
 * finally permanent.
 */
function lockSql(failures: SqlFragment, moment: SqlFragment, lockout: Lockout): SqlFragment {
  const doublings = sql`${failures} - ${lockout.LOCKOUT_THRESHOLD}::integer`;
  const seconds = sql`${lockout.LOCKOUT_FIRST_SECONDS}::integer * power(2, ${doublings})`;
  return sql`case
            when ${failures} >= ${lockout.LOCKOUT_HARD_LIMIT}::integer
              then ${forever}
            when ${failures} >= ${lockout.LOCKOUT_THRESHOLD}::integer
              then ${moment} + least(${lockout.LOCKOUT_MAX_SECONDS}::integer, ${seconds}) * interval '1 second'
          end`;
}
