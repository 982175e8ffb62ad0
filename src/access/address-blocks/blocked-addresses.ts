import { Injectable } from '@nestjs/common';
import { limitReached } from '../../http/errors/limit-reached';
import { monotonicMs } from '../../platform/clock';
import { Notifications } from '../../platform/database/notifications.service';
import { AddressBlocksRepository } from './address-blocks.repository';
import { BlockedNetworks } from './blocked-networks';

/** Longest `Retry-After` of a blocked address. */
const waitMaxSeconds = 86_400;
const detail = 'Logins from your network are blocked for some time.';

/** Cache of the address blocks, valid while notifications arrive (ADR 0010). */
@Injectable()
export class BlockedAddresses {
  /** all blocks, read by the first login after a change */
  private networks: Promise<BlockedNetworks> | null = null;

  constructor(
    private readonly blocks: AddressBlocksRepository,
    private readonly notifications: Notifications,
  ) {
    const invalidate = () => (this.networks = null);
    notifications.on('address_blocks_changed', invalidate);
    notifications.onGap(invalidate);
  }

  /** Rejects a blocked address. @throws auth.too_many_attempts */
  async assertOpen(ip: string): Promise<void> {
    const ms = await this.blockedMs(ip);
    if (ms <= 0) return;
    const window_seconds = Math.min(waitMaxSeconds, Math.ceil(ms / 1_000));
    throw limitReached({ name: 'address', max: 1, window_seconds, detail }, window_seconds, 'auth.too_many_attempts');
  }

  /** Returns the milliseconds until the block of an address ends. 0 or less: not blocked. */
  private async blockedMs(ip: string): Promise<number> {
    if (!this.notifications.isCurrent) return (await this.blocks.findFor(ip))?.ends_in_ms ?? 0;
    this.networks ??= this.read();
    return (await this.networks).endFor(ip) - monotonicMs();
  }

  private async read(): Promise<BlockedNetworks> {
    const readAt = monotonicMs();
    try {
      const blocks = await this.blocks.listNetworks();
      return new BlockedNetworks(blocks.map(({ network, ends_in_ms }) => ({ network, ends_at: readAt + ends_in_ms })));
    } catch (error) {
      this.networks = null;
      throw error;
    }
  }
}
