import { Injectable } from '@nestjs/common';
import type { Caller } from '../../access/actor';
import { readAssertion } from './passkeys/passkey-responses';
import type { PasskeyOptionsResponse } from './passkeys/passkeys.dto';
import { PasskeysService } from './passkeys/passkeys.service';
import type { FactorProof } from './factor-proofs.service';
import { SecondStepService } from '../login/second-step.service';
import { AccessTokens } from '../tokens/access-tokens';
import type { LoginResponse } from '../auth.dto';
import { onlyProofOf } from '../login/only-one';
import type { RefreshCookie } from '../tokens/refresh-cookie';
import type { SecondFactorRequest } from './second-factor.dto';

/** Completes logins with a second factor. */
@Injectable()
export class SecondFactorService {
  constructor(
    private readonly secondStep: SecondStepService,
    private readonly passkeys: PasskeysService,
    private readonly tokens: AccessTokens,
  ) {}

  /**
   * Completes a login.
   * @throws request.invalid unless the request has exactly one second factor
   * @throws auth.challenge_invalid, auth.invalid_second_factor, auth.passkey_unknown
   * @throws auth.scope_exceeded, auth.too_many_attempts, service.overloaded
   */
  async complete(
    { challenge, transport: _transport, audience, permissions, ...proofs }: SecondFactorRequest,
    caller: Caller,
    cookie: RefreshCookie | null,
  ): Promise<LoginResponse> {
    const sent = onlyProofOf(proofs);
    const proof: FactorProof =
      'passkey' in sent
        ? { passkey: { assertion: readAssertion(sent.passkey), purpose: 'second_factor', context: challenge } }
        : sent;
    const limited = this.tokens.limited(caller, { audience, permissions });
    return this.tokens.respond(await this.secondStep.complete(challenge, proof, limited), cookie);
  }

  /**
   * Returns the options with which a browser asks for a passkey. Stores nothing.
   * @param challenge challenge of the login, which the response repeats
   * @throws auth.challenge_invalid
   * @throws request.not_found if passkeys are off
   */
  async createOptions(challenge: string, caller: Caller): Promise<PasskeyOptionsResponse> {
    const { user_id } = await this.secondStep.find(challenge, caller);
    const use = { purpose: 'second_factor', user_id, context: challenge } as const;
    return { ...(await this.passkeys.requestOptions(use)), challenge };
  }
}
