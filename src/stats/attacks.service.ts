import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Actor } from '../access/actor';
import type { Scope } from '../access/scope';
import { Notifications } from '../platform/database/notifications.service';
import type { Answered } from '../platform/times';
import type { AttackedUserResponse } from './attacks.dto';
import { type AttackingNetwork, AttacksRepository, type RefusalRate } from './attacks.repository';

/** The response as the database returns it: times are texts. */
export type Attacks = RefusalRate & {
  networks: (AttackingNetwork & { blocked_until?: string })[];
  users: Answered<AttackedUserResponse>[];
};

/** Age up to which callers with the same scope share a result. */
const ageMaxMs = 10_000;
/** Number of rejected logins in an hour above which they can be an attack. */
const attackMin = 30;
/** An attack has more than this multiple of the usual number of rejected logins. */
const attackFactor = 3;

/** Finds networks and users with many rejected logins, in the audit log. */
@Injectable()
export class AttacksService {
  private readonly recent = new LRUCache<string, Promise<Attacks>>({ max: 100, ttl: ageMaxMs });

  constructor(
    private readonly attacks: AttacksRepository,
    notifications: Notifications,
  ) {
    // The page that blocks a network must show the block at once.
    notifications.on('address_blocks_changed', () => {
      this.attacks.noteBlocks();
      this.recent.clear();
    });
  }

  /** Returns the rejected logins within the actor's scope, at most 10 seconds old. */
  get(actor: Actor): Promise<Attacks> {
    const scope = scopeKey(actor);
    const known = this.recent.get(scope);
    if (known !== undefined) return known;
    const read = this.read(actor);
    this.recent.set(scope, read);
    read.catch(() => this.recent.delete(scope));
    return read;
  }

  /** Returns the rejected logins of the last hour if they are far more than usual, otherwise 0. */
  async countUnusual(actor: Actor): Promise<number> {
    const { refused_last_hour, usual_for_the_hour } = await this.attacks.findRate(actor);
    return refused_last_hour > Math.max(attackMin, attackFactor * usual_for_the_hour) ? refused_last_hour : 0;
  }

  private async read(scope: Scope): Promise<Attacks> {
    const networks = await this.attacks.listNetworks(scope);
    const users = await this.attacks.listUsers(scope);
    const rate = await this.attacks.findRate(scope);
    return {
      networks: networks.map(({ blocked_until, ...network }) => ({
        ...network,
        ...(blocked_until === null ? {} : { blocked_until }),
      })),
      users,
      ...rate,
    };
  }
}

/** Returns what the result depends on. For a limited System User, this includes their own id. */
function scopeKey({ actor_type, user_id, user_type, carrier_id, carrier_scope }: Scope): string {
  return JSON.stringify([
    user_type,
    carrier_id,
    ...(carrier_scope === null ? [] : [actor_type, user_id, carrier_scope]),
  ]);
}
