import { Module } from '@nestjs/common';
import { CredentialsModule } from '../credentials/credentials.module';
import { EventsModule } from '../events/events.module';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { JobsModule } from '../jobs/jobs.module';
import { LoginsModule } from '../logins/logins.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { OperationsModule } from '../operations/operations.module';
import { RolesModule } from '../roles/roles.module';
import { UserMailsModule } from '../user-mails/user-mails.module';
import { UsersModule } from '../users/users.module';
import { ExportLinksRepository } from './export-links.repository';
import { ExportLinksService } from './export-links.service';
import { ImportBatchesService } from './import-batches.service';
import { ImportRowsService } from './import-rows.service';
import { SkippedRowsService } from './skipped-rows.service';
import { UsersExportRepository } from './users-export.repository';
import { UsersExportService } from './users-export.service';
import { UsersImportRepository } from './users-import.repository';
import { UsersImportService } from './users-import.service';
import { UsersTransferController } from './users-transfer.controller';

/** Import and export of users. */
@Module({
  imports: [
    CredentialsModule,
    EventsModule,
    IdempotencyModule,
    JobsModule,
    LoginsModule,
    OperationsModule,
    RateLimitsModule,
    RolesModule,
    UserMailsModule,
    UsersModule,
  ],
  controllers: [UsersTransferController],
  providers: [
    UsersExportService,
    SkippedRowsService,
    UsersExportRepository,
    ExportLinksService,
    ExportLinksRepository,
    UsersImportService,
    ImportBatchesService,
    ImportRowsService,
    UsersImportRepository,
  ],
})
export class UsersTransferModule {}
