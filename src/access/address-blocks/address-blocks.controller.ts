import { Body, Controller, Delete, Get, HttpCode, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint } from '../../http/endpoint.decorator';
import { PathId } from '../../http/fields/path-id.decorator';
import type { Actor } from '../actor';
import { Allow } from '../allow.decorator';
import { CurrentActor } from '../caller.decorator';
import { ListQuery } from '../list-query.decorator';
import { LongWork, SingleWrite } from '../long-work.decorator';
import { addressBlockList } from './address-block-list';
import { AddressBlockListResponse, AddressBlockResponse, CreateAddressBlockRequest } from './address-blocks.dto';
import { AddressBlocksService } from './address-blocks.service';

const freshly = { fresh: true, unscoped: true } as const;

/** Address blocks. */
@ApiTags('Address blocks')
@Controller('address-block')
export class AddressBlocksController {
  constructor(private readonly blocks: AddressBlocksService) {}

  /** Block a network */
  @Post('create')
  @Allow('address_block:manage', freshly)
  @SingleWrite()
  @Endpoint({
    description:
      'Until `expires_at`, every route that logs in or resets a password responds to addresses in the network with ' +
      '429 `auth.too_many_attempts`, whatever the credentials. The address of a user behind a portal is ' +
      '`X-User-Address`. Requests with a valid token, and refreshes, still work: sessions do not end. Takes effect ' +
      'on the next request, on other instances within milliseconds. If several blocks contain an address, the last ' +
      'end applies.',
    answer: { status: 201, type: AddressBlockResponse, description: 'The block' },
    errors: ['address_block.own_address', 'address_block.too_many'],
  })
  createAddressBlock(
    @CurrentActor() actor: Actor,
    @Body() request: CreateAddressBlockRequest,
  ): Promise<AddressBlockResponse> {
    return this.blocks.create(actor, request);
  }

  /** List address blocks */
  @Get('list')
  @Allow('address_block:manage', { unscoped: true })
  @LongWork()
  @Endpoint({
    description: 'Returns the blocks that have not expired.',
    answer: { status: 200, type: AddressBlockListResponse, description: 'One page of blocks' },
  })
  listAddressBlocks(@ListQuery(addressBlockList) query: ListQuery): Promise<AddressBlockListResponse> {
    return this.blocks.list(query);
  }

  /** Remove an address block */
  @Delete(':address_block_id')
  @HttpCode(204)
  @Allow('address_block:manage', freshly)
  @SingleWrite()
  @Endpoint({
    description: 'Logins from the network work again, unless another block contains it.',
    answer: { status: 204, description: 'The block is removed' },
    errors: ['address_block.not_found'],
  })
  deleteAddressBlock(
    @CurrentActor() actor: Actor,
    @PathId('address_block_id') address_block_id: string,
  ): Promise<void> {
    return this.blocks.delete(actor, address_block_id);
  }
}
