import { isIPv4 } from 'node:net';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { EventsService } from '../../audit/events.service';
import { AppError, invalid } from '../../http/errors/app-error';
import type { ListQuery } from '../../http/lists/list-query';
import { CONFIG, type Config } from '../../platform/config/config';
import { clientAddress, prefixOf } from '../../platform/ip';
import { JobsService } from '../../platform/jobs/jobs.service';
import { newId } from '../../platform/random';
import type { Actor } from '../actor';
import { ApiKeysService } from '../api-keys/api-keys.service';
import {
  type AddressBlockListResponse,
  type AddressBlockResponse,
  type CreateAddressBlockRequest,
  toAddressBlockResponse,
} from './address-blocks.dto';
import { AddressBlocksRepository } from './address-blocks.repository';

/** Length of the shortest prefix of a block. IPv4-mapped networks begin with 96 other bits. */
const shortest = { ipv4: 8, ipv6: 32, mapped: 96 + 8 };

/** Rejects logins and password resets from networks for a limited time. */
@Injectable()
export class AddressBlocksService implements OnModuleInit {
  constructor(
    private readonly blocks: AddressBlocksRepository,
    private readonly apiKeys: ApiKeysService,
    private readonly events: EventsService,
    private readonly jobs: JobsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.every('29 * * * *', 'remove-expired-address-blocks', () => this.blocks.removeExpired());
  }

  /**
   * Blocks a network. Takes effect on the next request, on other instances within milliseconds.
   * @throws request.invalid, address_block.own_address, address_block.too_many
   */
  @Transactional()
  async create(
    actor: Actor,
    { network, reason = null, expires_at }: CreateAddressBlockRequest,
  ): Promise<AddressBlockResponse> {
    const canonical = canonicalNetwork(network);
    await this.assertForeign(actor, canonical);
    if (await this.blocks.isFull()) throw new AppError('address_block.too_many');
    const block = { network: canonical, reason, created_by: actor.user_id, expires_at: new Date(expires_at) };
    const created = await this.blocks.insert({ address_block_id: newId(), ...block });
    if (created === null)
      throw invalid({
        pointer: '/expires_at',
        code: 'field.not_allowed',
        detail: 'must be in the future, at most 30 days ahead',
      });
    await this.events.record(
      actor,
      'address_block.created',
      { id: created.address_block_id },
      { network: { after: created.network }, reason: { after: reason }, expires_at: { after: created.expires_at } },
    );
    return toAddressBlockResponse(created);
  }

  /** Returns one page of the blocks that have not expired. */
  async list(query: ListQuery): Promise<AddressBlockListResponse> {
    const page = await this.blocks.list(query);
    return { ...page, items: page.items.map(toAddressBlockResponse) };
  }

  /** Removes a block. @throws address_block.not_found */
  @Transactional()
  async delete(actor: Actor, address_block_id: string): Promise<void> {
    const removed = await this.blocks.delete(address_block_id);
    if (removed === null) throw new AppError('address_block.not_found');
    const changes = { network: { before: removed.network }, reason: { before: removed.reason } };
    await this.events.record(actor, 'address_block.removed', { id: address_block_id }, changes);
  }

  /** Rejects a network if its block would lock out the actor, or all users of a proxy or portal. */
  private async assertForeign(actor: Actor, network: string): Promise<void> {
    const prefix = prefixOf(network);
    const own = [...this.config.TRUST_PROXY, ...(actor.ip === null ? [] : [actor.ip])].map(prefixOf);
    if (
      own.some((one) => one.startsWith(prefix) || prefix.startsWith(one)) ||
      (await this.apiKeys.hasPortalWithin(network))
    )
      throw new AppError('address_block.own_address');
  }
}

/** Returns a network as a CIDR. @throws request.invalid if it is too wide */
function canonicalNetwork(network: string): string {
  const prefix = prefixOf(network);
  const bits = prefix.length - 1;
  // Written as IPv4, the form in which addresses of clients are compared.
  const address = clientAddress(network.split('/')[0]) ?? '';
  const min = shortest[prefix.startsWith('4') ? 'ipv4' : isIPv4(address) ? 'mapped' : 'ipv6'];
  if (bits < min)
    throw invalid({
      pointer: '/network',
      code: 'field.not_allowed',
      detail: `must be a /${min} or smaller`,
      params: { min },
    });
  return `${address}/${bits}`;
}
