import { Body, Controller, Delete, Get, HttpCode, Patch, Post, Query, Res, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { Actor } from '../access/actor';
import { Allow } from '../access/allow.decorator';
import { CurrentActor } from '../access/caller.decorator';
import { pagingErrors, ParsedQuery } from '../access/list-query.decorator';
import { LongWork, SingleWrite } from '../access/long-work.decorator';
import { etagHeader, EtagInterceptor, IfMatch, ifMatchHeader, setEtag } from '../http/etag.interceptor';
import { Endpoint } from '../http/endpoint.decorator';
import { PathId } from '../http/fields/path-id.decorator';
import { readBoolean } from '../http/lists/boolean-parameter';
import type { RawQuery } from '../http/lists/filter';
import { listParameters } from '../http/lists/parameters';
import type { Answered } from '../platform/times';
import { changesCursorHeader } from '../audit/changes/changes.dto';
import { Idempotent } from '../http/idempotency/idempotent.decorator';
import { ConflictLimitInterceptor } from './changes/conflict-limit.interceptor';
import { UserCreationService } from './user-creation.service';
import { userFieldsWith } from './user-fields';
import { deletedUserFields, deletedUserList, parseUserListQuery, type UserListQuery } from './user-list';
import { ChangeUserRequest, CreateUserRequest, UserListResponse, UserResponse } from './users.dto';
import { type UserPage, UsersService } from './users.service';

const selfFields = userFieldsWith('self_changeable')
  .map((field) => `\`${field}\``)
  .join(', ');
const purgeParameter = {
  name: 'purge',
  description: '`true`: deletes the user for good, even if already deleted; needs `user:purge`',
  schema: { type: 'boolean', default: false, example: false },
};
const deletedParameter = {
  name: 'deleted',
  description:
    '`true`: lists deleted users only. With `user:read`, an item has only ' +
    `${deletedUserFields.map((field) => `\`${field}\``).join(', ')}, and only these filter and sort. ` +
    'With `user:read_deleted`, it has all fields',
  schema: { type: 'string', enum: ['true'] },
};
const listedUsers = [deletedParameter, ...listParameters(deletedUserList)];

/** Routes for users, one at a time and in lists. */
@ApiTags('Users')
@Controller('user')
export class UsersController {
  constructor(
    private readonly users: UsersService,
    private readonly creation: UserCreationService,
  ) {}

  /** Create a user */
  @Post('create')
  // No cache contains a new user.
  @RouteConfig({ awaitsInvalidation: 'errors' })
  @Allow('user:create', { fresh: '`roles` is not empty' })
  @Idempotent()
  @UseInterceptors(EtagInterceptor, ConflictLimitInterceptor)
  @Endpoint({
    description:
      'Without `password`, the user is `invited` and gets a mail with a link to set a password. ' +
      'With `password`, the user is `active` and must change the password at the first login, ' +
      'unless `must_change_password` is false. ' +
      'At most 8 new passwords of a caller are processed at the same time; further requests return 429.',
    answer: {
      status: 201,
      type: UserResponse,
      description: 'The user',
      headers: { ...etagHeader, Location: 'Path of the user' },
    },
    errors: ['user.email_taken', 'user.name_taken', 'access.grant_exceeds_own', 'service.overloaded'],
  })
  createUser(@CurrentActor() actor: Actor, @Body() request: CreateUserRequest): Promise<UserResponse> {
    return this.creation.create(actor, request);
  }

  /** List the users that match a filter */
  @Get('list')
  @Allow('user:read')
  @LongWork()
  @Endpoint({
    description:
      'Filters are joined by AND; an operator is a suffix of the field. ' +
      '`attributes.<key>` compares the text of a top-level attribute for equality (at most 3). ' +
      'It has no operators: a suffix is part of the key.',
    answer: { status: 200, type: UserListResponse, description: 'One page of users', headers: changesCursorHeader },
  })
  async listUsers(
    @CurrentActor() actor: Actor,
    @ParsedQuery(parseUserListQuery, listedUsers, pagingErrors) query: UserListQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<UserPage> {
    const page = await this.users.list(actor, query);
    void reply.header('changes-cursor', page.changes_cursor);
    return page;
  }

  /** Get one user */
  @Get(':user_id')
  @Allow('user:read', { orSelf: 'user_id' })
  @Endpoint({
    description: 'Users can read themselves without `user:read`.',
    answer: { status: 200, type: UserResponse, description: 'The user', headers: etagHeader },
    errors: ['user.not_found'],
  })
  async getUser(
    @CurrentActor() actor: Actor,
    @PathId('user_id') user_id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Answered<UserResponse>> {
    const user = await this.users.get(actor, user_id);
    setEtag(reply, user.version);
    return user;
  }

  /** Modify one user */
  @Patch(':user_id')
  @Allow('user:update', {
    orSelf: 'user_id',
    fresh:
      'the body contains `roles`, `carrier_scope`, `allowed_ips`, `email`, `second_factor_required_from`, or a ' +
      '`status` other than `disabled`',
  })
  // Inside the limit of conflicts, which takes a place for its counter.
  @SingleWrite()
  @UseInterceptors(EtagInterceptor, ConflictLimitInterceptor)
  @ApiHeader(ifMatchHeader)
  @Endpoint({
    description:
      'Absent fields stay unchanged, null clears a field. ' +
      `Without \`user:update\`, users can change these fields of their own user: ${selfFields}.`,
    answer: { status: 200, type: UserResponse, description: 'The user after the change', headers: etagHeader },
    errors: [
      'user.not_found',
      'user.version_mismatch',
      'user.name_taken',
      'user.email_taken',
      'user.self_protected',
      'access.protected_user',
      'access.grant_exceeds_own',
      'user.no_password',
      'user.last_administrator',
    ],
  })
  changeUser(
    @CurrentActor() actor: Actor,
    @PathId('user_id') user_id: string,
    @Body() request: ChangeUserRequest,
    @IfMatch() versions: number[] | null,
  ): Promise<Answered<UserResponse>> {
    return this.users.change(actor, user_id, request, versions);
  }

  /** Delete one user */
  @Delete(':user_id')
  @HttpCode(204)
  @Allow('user:delete', { fresh: '`purge` is true' })
  @ApiHeader(ifMatchHeader)
  @SingleWrite()
  @Endpoint({
    description:
      'Deletes softly: sessions end, name and e-mail address are free again, and the user can be restored. ' +
      'With `purge=true`, deletes the user for good.',
    answer: { status: 204, description: 'The user is deleted' },
    errors: [
      'user.not_found',
      'user.version_mismatch',
      'user.self_protected',
      'access.protected_user',
      'user.last_administrator',
    ],
    query: [purgeParameter],
  })
  deleteUser(
    @CurrentActor() actor: Actor,
    @PathId('user_id') user_id: string,
    @IfMatch() versions: number[] | null,
    @Query() query: RawQuery,
  ): Promise<void> {
    return this.users.delete(actor, user_id, versions, readBoolean(query, 'purge'));
  }

  /** Restore a deleted user */
  @Post(':user_id/restore')
  @HttpCode(200)
  @Allow('user:delete', { fresh: 'the user has roles' })
  // Inside the limit of conflicts, which takes a place for its counter.
  @SingleWrite()
  @UseInterceptors(EtagInterceptor, ConflictLimitInterceptor)
  @Endpoint({
    description: 'Restores the password, the status, and the roles that are still available to the type of the user.',
    answer: { status: 200, type: UserResponse, description: 'The user', headers: etagHeader },
    errors: ['user.not_found', 'user.self_protected', 'access.protected_user', 'user.email_taken', 'user.name_taken'],
    withoutBody: true,
  })
  restoreUser(@CurrentActor() actor: Actor, @PathId('user_id') user_id: string): Promise<UserResponse> {
    return this.users.restore(actor, user_id);
  }

  /** Invite a user again */
  @Post(':user_id/invite')
  @HttpCode(202)
  @Allow('user:update')
  @SingleWrite()
  @Endpoint({
    description:
      'Mails a new link to a user without a password; the older link stops working. ' +
      'At most 3 invitations per address and hour are mailed. Beyond that the response is the same, ' +
      'but the mail is delayed until the hour is over, and the older link stays valid until then.',
    answer: {
      status: 202,
      description: 'The invitation is on its way, or delayed if the address already got 3 in the last hour',
    },
    errors: ['user.not_found', 'access.protected_user'],
    withoutBody: true,
  })
  inviteUser(@CurrentActor() actor: Actor, @PathId('user_id') user_id: string): Promise<void> {
    return this.users.invite(actor, user_id);
  }
}
