import { Injectable } from '@nestjs/common';
import type { Actor } from '../../access/actor';
import { AppError } from '../../http/errors/app-error';
import type { CurrentUserResponse } from '../../users/users.dto';
import { type LiveLogin, LiveLoginsService, permissionsOf } from '../tokens/live-logins.service';

/** A `CurrentUserResponse` as JSON, with the version of the user. */
export interface CurrentUserText {
  readonly version: number;
  readonly json: string;
}

/** Returns the logged-in user, from memory while the login cannot have changed (ADR 10). */
@Injectable()
export class CurrentUserService {
  /** Rendered once per cached login, because rendering takes 10 % of the CPU time of a request. */
  private readonly texts = new WeakMap<LiveLogin, CurrentUserText>();

  constructor(private readonly logins: LiveLoginsService) {}

  /**
   * Returns the user of a session, with the current permissions.
   * @throws auth.token_invalid if the session ended after the guard admitted the request
   */
  async get({ session_id, user_id }: Actor): Promise<CurrentUserText> {
    const login = session_id === null ? null : await this.logins.find(session_id, user_id);
    if (login === null) throw new AppError('auth.token_invalid');
    const known = this.texts.get(login);
    if (known !== undefined) return known;
    // The permissions belong to the same login. Those of the actor may be older.
    const response: CurrentUserResponse = { ...login.user, permissions: permissionsOf(login) };
    const text = { version: login.user.version, json: JSON.stringify(response) };
    this.texts.set(login, text);
    return text;
  }
}
