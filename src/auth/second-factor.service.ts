import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/actor';
import { readAssertion } from '../credentials/factors/passkeys.service';
import type { FactorProof } from '../logins/factor-proofs.service';
import { SecondStepService } from '../logins/second-step.service';
import { AccessTokens } from './access-tokens';
import type { LoginResponse } from './auth.dto';
import { LoginResponses } from './login-responses';
import { onlyProofOf } from './only-one';
import type { RefreshCookie } from './refresh-cookie';
import type { SecondFactorRequest } from './second-factor.dto';

/** Completes logins with a second factor. */
@Injectable()
export class SecondFactorService {
  constructor(
    private readonly secondStep: SecondStepService,
    private readonly responses: LoginResponses,
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
    return this.responses.of(await this.secondStep.complete(challenge, proof, limited), cookie);
  }
}
