import { Inject, Injectable } from '@nestjs/common';
import { AppError } from '../../http/errors/app-error';
import { deriveKey } from '../../platform/random';
import { Signer } from '../../platform/signer';
import { CONFIG, type Config } from '../../platform/config/config';
import { currentTime } from '../../platform/clock';
import { Notifications } from '../../platform/database/notifications.service';

/**
 * A place in the change feed. Changes are in the order of their transaction and id. The place after
 * all changes of finished transactions has the id of the oldest running transaction and `nilId`.
 */
export interface Place {
  /** id of a transaction (`xid8`) as text */
  tx: string;
  event_id: string;
  /** time of the change, or the time at which no further change was known */
  at: Date;
}

/** Smaller than the id of every event. */
export const nilId = '00000000-0000-0000-0000-000000000000';

/** Returns whether a place is before another one. */
export function isBefore(one: Place, other: Place): boolean {
  if (one.tx === other.tx) return one.event_id < other.event_id;
  return BigInt(one.tx) < BigInt(other.tx);
}

type SignedPlace = [tx: string, event_id: string, at: number, history?: string];

const context = 'changes';
const dayMs = 86_400_000;

/**
 * Encodes and decodes cursors of the change feed. A cursor is opaque and signed. It is not bound to
 * a caller or filter: lists and exports return cursors too.
 */
@Injectable()
export class ChangeCursors {
  private readonly signer: Signer;
  /** cursors outlive a rotation of `APP_SECRET` */
  private readonly previous: Signer | null;
  /** the last place and its cursor: many callers get the same one, and a signature takes 20 µs */
  private encoded: { place: string; cursor: string } | null = null;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly notifications: Notifications,
  ) {
    const { APP_SECRET, APP_SECRET_PREVIOUS } = config;
    this.signer = signerOf(APP_SECRET);
    this.previous = APP_SECRET_PREVIOUS === undefined ? null : signerOf(APP_SECRET_PREVIOUS);
  }

  /** Returns the cursor of the changes after a place. */
  encode({ tx, event_id, at }: Place): string {
    const signed: SignedPlace = [tx, event_id, at.getTime(), this.history];
    const place = signed.join();
    if (this.encoded?.place !== place) this.encoded = { place, cursor: this.signer.sign(signed, context) };
    return this.encoded.cursor;
  }

  /** Returns the place of a cursor. @throws page.cursor_invalid, change.cursor_expired */
  decode(cursor: string): Place {
    const place = this.signer.open<SignedPlace>(cursor, context) ?? this.previous?.open<SignedPlace>(cursor, context);
    if (place === null || place === undefined)
      throw new AppError('page.cursor_invalid', { detail: 'The cursor is not one of this service. Make a new copy.' });
    const [tx, event_id, at, history] = place;
    // After a restore, transactions get the ids of lost ones again (F36).
    if (history !== this.history || at < currentTime().getTime() - this.config.CHANGE_DAYS * dayMs)
      throw new AppError('change.cursor_expired');
    return { tx, event_id, at: new Date(at) };
  }

  private get history(): string {
    return this.notifications.history.slice(0, 8);
  }
}

function signerOf(secret: string): Signer {
  return new Signer(deriveKey(secret, 'change cursor'));
}
