import { Injectable } from '@nestjs/common';
import type { Actor, Caller } from '../../access/actor';
import { type ChallengeUse, PasskeysService } from '../../credentials/factors/passkeys.service';
import { SecondStepService } from '../second-step.service';
import type { PasskeyOptionsResponse } from './passkeys.dto';

/** Returns the options with which a browser asks for a passkey. Stores nothing. */
@Injectable()
export class PasskeyOptionsService {
  constructor(
    private readonly passkeys: PasskeysService,
    private readonly secondStep: SecondStepService,
  ) {}

  /**
   * Returns the options of a login without name. They name no passkey, so the browser offers all of
   * its passkeys for the service, also as autofill.
   * @throws request.not_found if passkeys are off
   */
  forLogin(): Promise<PasskeyOptionsResponse> {
    return this.optionsOf({ purpose: 'login', user_id: null, context: null });
  }

  /**
   * Returns the options of the second step of a login.
   * @param challenge challenge of the login, which the response repeats
   * @throws auth.challenge_invalid
   * @throws request.not_found if passkeys are off
   */
  async forSecondFactor(challenge: string, caller: Caller): Promise<PasskeyOptionsResponse> {
    const { user_id } = await this.secondStep.find(challenge, caller);
    const { options } = await this.optionsOf({ purpose: 'second_factor', user_id, context: challenge });
    return { options, challenge };
  }

  /** Returns the options to authenticate again. @throws request.not_found if passkeys are off */
  forReauthentication({ user_id, session_id }: Actor): Promise<PasskeyOptionsResponse> {
    return this.optionsOf({ purpose: 'reauthentication', user_id, context: session_id });
  }

  private async optionsOf(use: ChallengeUse): Promise<PasskeyOptionsResponse> {
    const { options, challenge } = await this.passkeys.requestOptions(use);
    return { options: { ...options }, challenge };
  }
}
