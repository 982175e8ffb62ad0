import { Injectable } from '@nestjs/common';
import type { Caller } from '../access/actor';
import { SecondStepService } from '../logins/second-step.service';
import type { LoginResponse } from './auth.dto';
import { LoginResponses } from './login-responses';
import { onlyProofOf } from './only-proof';
import type { SecondFactorRequest } from './second-factor.dto';

/** Completes logins with a second factor. */
@Injectable()
export class SecondFactorService {
  constructor(
    private readonly secondStep: SecondStepService,
    private readonly responses: LoginResponses,
  ) {}

  /**
   * Completes a login.
   * @throws request.invalid unless the request has exactly one second factor
   * @throws auth.challenge_invalid, auth.invalid_second_factor
   * @throws auth.too_many_attempts, service.overloaded
   */
  async complete({ challenge, ...proofs }: SecondFactorRequest, caller: Caller): Promise<LoginResponse> {
    return this.responses.of(await this.secondStep.complete(challenge, onlyProofOf(proofs), caller));
  }
}
