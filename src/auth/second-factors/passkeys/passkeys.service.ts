import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
} from '@simplewebauthn/server';
import type { Actor } from '../../../access/actor';
import { EventsService } from '../../../audit/events.service';
import { AppError, invalid } from '../../../http/errors/app-error';
import { newId } from '../../../platform/random';
import { CONFIG, type Config } from '../../../platform/config/config';
import { Notifications } from '../../../platform/database/notifications.service';
import { JobsService } from '../../../platform/jobs/jobs.service';
import { SecurityMailsService } from '../../../users/mails/security-mails.service';
import type { FactorRecord } from '../factors.repository';
import { type ChallengeUse, passkeyChallengeSeconds, PasskeyChallenges } from './passkey-challenges';
import type { PasskeyAssertion } from './passkey-responses';
import { passkeyAlgorithms, type RelyingParty, verifyAssertion, verifyRegistration } from './passkey-verification';
import type { PasskeyOptionsResponse } from './passkeys.dto';
import { type PasskeyDescriptor, PasskeysRepository, type StoredPasskey } from './passkeys.repository';

/** A response of a browser, and the challenge that it belongs to. */
export interface PasskeyProof {
  assertion: PasskeyAssertion;
  purpose: ChallengeUse['purpose'];
  /** session, or challenge of the login, that requested the options; null = none */
  context: string | null;
  /** challenge as the caller sent it; default: the challenge in the response itself */
  challenge?: string;
}

/** Result of a proof: authentication methods (RFC 8176) of the passkey, or why it was rejected. */
export type PasskeyProofResult = { amr: string[] } | { rejection: 'auth.challenge_invalid' | 'auth.passkey_unknown' };

const batchMax = 1_000;

/**
 * Enrols and verifies passkeys (WebAuthn). Each passkey is discoverable and verifies its user, so
 * it replaces name and password at a login.
 */
@Injectable()
export class PasskeysService implements OnModuleInit {
  private readonly challenges: PasskeyChallenges;

  constructor(
    private readonly passkeys: PasskeysRepository,
    private readonly jobs: JobsService,
    private readonly events: EventsService,
    private readonly mails: SecurityMailsService,
    @Inject(CONFIG) private readonly config: Config,
    notifications: Notifications,
  ) {
    this.challenges = new PasskeyChallenges(config, notifications);
  }

  onModuleInit(): void {
    this.jobs.every('17 * * * *', 'forget-passkey-challenges', () => this.forgetChallenges());
  }

  /**
   * Returns the options of `navigator.credentials.create()`, and excludes the user's passkeys.
   * @throws request.not_found if passkeys are off
   */
  async enrollmentOptions(user_id: string, name: string, use: ChallengeUse): Promise<PasskeyOptionsResponse> {
    const { rp_id: rpID } = this.relyingParty();
    const excluded = await this.passkeys.list(user_id, rpID);
    const challenge = this.challenges.sign(use);
    const options = await generateRegistrationOptions({
      rpName: this.config.PRODUCT_NAME,
      rpID,
      userName: name,
      userDisplayName: name,
      userID: handleOf(user_id),
      challenge,
      timeout: passkeyChallengeSeconds * 1_000,
      attestationType: 'none',
      excludeCredentials: excluded.map(describe),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: passkeyAlgorithms,
    });
    return { options: { ...options }, challenge };
  }

  /**
   * Returns the options of `navigator.credentials.get()`. Stores nothing. Names the passkeys of a
   * user only if the user is known; otherwise the browser offers its own.
   * @throws request.not_found if passkeys are off
   */
  async requestOptions(use: ChallengeUse): Promise<PasskeyOptionsResponse> {
    const { rp_id: rpID } = this.relyingParty();
    const allowed = use.user_id === null ? [] : await this.passkeys.list(use.user_id, rpID);
    const challenge = this.challenges.sign(use);
    const options = await generateAuthenticationOptions({
      rpID,
      challenge,
      timeout: passkeyChallengeSeconds * 1_000,
      allowCredentials: allowed.map(describe),
      userVerification: 'required',
    });
    return { options: { ...options }, challenge };
  }

  /**
   * Adds a passkey, and uses up its challenge. Lock the user first. Returns the factor, and the
   * authentication methods of its enrolment (RFC 8176).
   * @throws request.invalid naming `/challenge` or `/passkey`
   * @throws factor.already_enrolled
   */
  async add(
    user_id: string,
    name: string,
    { response, challenge, use }: { response: RegistrationResponseJSON; challenge: string; use: ChallengeUse },
  ): Promise<{ factor: FactorRecord; amr: string[] }> {
    const opened = this.challenges.open(challenge, use);
    if (opened === null) throw wrong('/challenge', 'is not valid, or has expired: request new options');
    const passkey = await verifyRegistration(response, challenge, this.relyingParty());
    if (passkey === null) throw wrong('/passkey', 'does not belong to the challenge and the origin');
    if (!(await this.passkeys.useChallenge(opened.hash, opened.expires_at)))
      throw wrong('/challenge', 'was already used: request new options');
    const factor = await this.passkeys.insert(newId(), user_id, name, passkey);
    return { factor, amr: methodsOf(passkey.backup_eligible) };
  }

  /**
   * Returns the id of the user who has the passkey of a response, or null. Verifies nothing.
   * @throws request.not_found if passkeys are off
   */
  async findOwner({ response }: PasskeyAssertion): Promise<string | null> {
    return (await this.find(response.id))?.user_id ?? null;
  }

  /**
   * Verifies a passkey of a locked user, notes its use, and uses up the challenge. Commit the
   * transaction after a rejection, too: a passkey that may have been cloned is recorded and mailed.
   * @throws request.not_found if passkeys are off
   */
  async verify(
    actor: Actor,
    { user_id, carrier_id }: { user_id: string; carrier_id: string | null },
    { assertion, purpose, context, challenge }: PasskeyProof,
  ): Promise<PasskeyProofResult> {
    // The options of a login without name do not know the user.
    const use = { purpose, context, user_id: purpose === 'login' ? null : user_id };
    const unknownPasskey = { rejection: 'auth.passkey_unknown' } as const;
    const invalidChallenge =
      challenge === undefined ? unknownPasskey : ({ rejection: 'auth.challenge_invalid' } as const);
    const signed = challenge ?? assertion.challenge;
    const opened = this.challenges.open(signed, use);
    if (opened === null) return invalidChallenge;
    const passkey = await this.find(assertion.response.id);
    if (passkey?.user_id !== user_id || !namesUser(assertion, user_id, use)) return unknownPasskey;
    const counter = await verifyAssertion(assertion.response, signed, passkey, this.relyingParty());
    if (counter === null) return unknownPasskey;
    if (!(await this.passkeys.useChallenge(opened.hash, opened.expires_at))) return invalidChallenge;
    const { factor_id, backup_eligible, signature_counter: before } = passkey;
    if (await this.passkeys.moveCounter(factor_id, counter)) return { amr: methodsOf(backup_eligible) };
    const changes = { factor_id: { after: factor_id }, counter: { before, after: counter } };
    await this.events.record(actor, 'factor.counter_went_back', { id: user_id, carrier_id }, changes);
    await this.mails.passkeyCounterWentBack(actor, user_id);
    return unknownPasskey;
  }

  private relyingParty(): RelyingParty {
    const { WEBAUTHN_RP_ID: rp_id, WEBAUTHN_ORIGINS: origins } = this.config;
    if (rp_id !== null) return { rp_id, origins };
    throw new AppError('request.not_found', {
      detail: 'Passkeys are off: the host of PUBLIC_URL is no domain, and WEBAUTHN_RP_ID is not set.',
    });
  }

  private async find(id: string): Promise<StoredPasskey | null> {
    return this.passkeys.find(Buffer.from(id, 'base64url'), this.relyingParty().rp_id);
  }

  /** Deletes used challenges that expired, in batches. */
  async forgetChallenges(): Promise<void> {
    while ((await this.passkeys.removeExpiredChallenges(batchMax)) === batchMax);
  }
}

/** Returns the authentication methods of a passkey (RFC 8176). */
function methodsOf(backup_eligible: boolean): string[] {
  return [backup_eligible ? 'swk' : 'hwk', 'user', 'mfa'];
}

/** Returns the user handle of WebAuthn: the bytes of the user id, which reveal nothing. */
function handleOf(user_id: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(user_id.replaceAll('-', ''), 'hex'));
}

/**
 * Returns whether a response names the user. A login without name must name its user (WebAuthn
 * §7.2); security keys omit the name for a passkey that the options listed.
 */
function namesUser({ response }: PasskeyAssertion, user_id: string, use: ChallengeUse): boolean {
  const { userHandle } = response.response;
  if (userHandle === undefined) return use.user_id !== null;
  return userHandle === Buffer.from(handleOf(user_id)).toString('base64url');
}

function describe({ credential_id, transports }: PasskeyDescriptor): { id: string; transports: string[] } {
  return { id: credential_id.toString('base64url'), transports };
}

function wrong(pointer: string, detail: string): AppError {
  return invalid({ pointer, code: 'field.not_allowed', detail });
}
