import { Injectable } from '@nestjs/common';
import { Transactional } from '@nestjs-cls/transactional';
import { systemActor } from '../access/actor';
import { ApiKeysService } from '../access/api-keys/api-keys.service';
import { EventsService } from '../audit/events.service';
import { DatabaseServer } from '../platform/database/database-server';
import { LoginChallengesRepository } from './login/login-challenges.repository';
import { CredentialsService } from './passwords/credentials.service';
import { EnrollmentCodesRepository } from './second-factors/codes/enrollment-codes.repository';
import { SessionsService } from './sessions/sessions.service';
import { SigningKeyRotation } from './signing-keys/signing-key-rotation.service';

/** What `after-restore` ended. */
export interface RestoreResult {
  /** time of the last event in the database; null = none */
  restored_to: Date | null;
  sessions: number;
  links: number;
  keys: number;
}

/** Ends what a restored database brought back (F36). */
@Injectable()
export class RestoreService {
  constructor(
    private readonly apiKeys: ApiKeysService,
    private readonly credentials: CredentialsService,
    private readonly challenges: LoginChallengesRepository,
    private readonly codes: EnrollmentCodesRepository,
    private readonly sessions: SessionsService,
    private readonly signingKeys: SigningKeyRotation,
    private readonly server: DatabaseServer,
    private readonly events: EventsService,
  ) {}

  /**
   * Ends all sessions, links, challenges and codes, suspends API keys, and accepts the server as
   * the last step. After an interruption, call it again.
   */
  async finish(): Promise<RestoreResult> {
    const restored_to = await this.events.findLastTime();
    const keys = await this.apiKeys.suspendAll();
    await this.challenges.deleteAll();
    await this.codes.voidAll();
    const links = await this.credentials.voidAllTokens();
    const sessions = await this.sessions.endAll();
    const result = { restored_to, sessions, links, keys };
    await this.complete(result);
    return result;
  }

  /** Revokes the signing keys in the transaction that starts a new history of the change feed. */
  @Transactional()
  private async complete({ restored_to, sessions, links, keys }: RestoreResult): Promise<void> {
    await this.server.accept(false);
    await this.signingKeys.rotate({ revoke: true });
    const counts = { sessions: { after: sessions }, links: { after: links }, keys: { after: keys } };
    const changes = { restored_to: { after: restored_to }, ...counts };
    await this.events.record(systemActor, 'database.restored', {}, changes);
  }
}
