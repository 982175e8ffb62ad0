import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Actor, actorOf, type Caller } from '../../access/actor';
import { assertFresh } from '../../access/fresh';
import { assertHolds } from '../../access/permissions';
import { AppError } from '../../http/errors/app-error';
import { hashToken, mintToken } from '../../platform/random';
import type { Answered } from '../../platform/times';
import { CONFIG, type Config, serviceUrl } from '../../platform/config/config';
import { JobsService } from '../../platform/jobs/jobs.service';
import { LiveLoginsService } from '../../auth/tokens/live-logins.service';
import { ExportLinksRepository } from './export-links.repository';
import { type ExportedUsers, type ParsedExport, parseExport, UsersExportService } from './users-export.service';
import type { ExportLinkResponse } from './users-transfer.dto';

/** Time for a browser to start the download. */
const ttlSeconds = 60;

/**
 * Creates and uses one-time links to exports. A browser streams the file of a link to the disk. A
 * script that sends the access token would have to hold the file in memory.
 */
@Injectable()
export class ExportLinksService implements OnModuleInit {
  constructor(
    private readonly links: ExportLinksRepository,
    private readonly exports: UsersExportService,
    private readonly logins: LiveLoginsService,
    private readonly jobs: JobsService,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.jobs.every('* * * * *', 'remove-expired-export-links', () => this.links.removeExpired());
  }

  /**
   * Returns a link to an export of the actor, in place of the previous link of the session.
   * @throws access.denied, auth.reauthentication_required, auth.token_invalid
   */
  async create(actor: Actor, { hashes, sent }: ParsedExport): Promise<Answered<ExportLinkResponse>> {
    if (hashes) assertFresh(actor);
    // Only API keys have no session, and the route rejects them.
    if (actor.session_id === null) throw new AppError('access.denied');
    const token = mintToken();
    const expires_at = await this.links.put(actor.session_id, hashToken(token), sent, ttlSeconds);
    if (expires_at === null) throw new AppError('auth.token_invalid');
    return { url: `${serviceUrl(this.config)}/user/export/${token}`, expires_at };
  }

  /**
   * Uses up a link, and exports what its user may export now. After a rejected export, the user
   * needs a new link.
   * @param gone ends the export and its database query
   * @throws export.link_invalid if the link was used, has expired, or its session has ended;
   * access.denied, request.rate_limited, service.overloaded
   */
  async use(token: string, caller: Caller, gone: AbortSignal): Promise<ExportedUsers> {
    const link = await this.links.take(hashToken(token));
    if (link === null) throw new AppError('export.link_invalid');
    // Read from the database: the link alone does not prove that the session is live.
    const login = await this.logins.read(link.session_id, link.user_id);
    if (login === null) throw new AppError('export.link_invalid');
    const { session_id, auth_time } = login.session;
    const actor = actorOf(login, { session_id, auth_time, fresh_until: login.fresh_until }, caller);
    assertHolds(actor, 'user:export');
    return this.exports.export(actor, parseExport(link.query, { actor }), gone);
  }
}
