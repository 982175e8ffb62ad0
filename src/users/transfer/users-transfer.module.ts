import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { CredentialsModule } from '../../auth/passwords/credentials.module';
import { EventsModule } from '../../audit/events.module';
import { IdempotencyModule } from '../../http/idempotency/idempotency.module';
import { JobsModule } from '../../platform/jobs/jobs.module';
import { RateLimitsModule } from '../../access/rate-limits/rate-limits.module';
import { OperationsModule } from '../operations/operations.module';
import { RolesModule } from '../../access/roles/roles.module';
import { UserMailsModule } from '../mails/user-mails.module';
import { UsersModule } from '../users.module';
import { ExportLinksRepository } from './export-links.repository';
import { ExportLinksService } from './export-links.service';
import { ImportRowsService } from './import-rows.service';
import { UsersExportRepository } from './users-export.repository';
import { UsersExportService } from './users-export.service';
import { UsersImportRepository } from './users-import.repository';
import { UsersImportService } from './users-import.service';
import { UsersTransferController } from './users-transfer.controller';

/** Import and export of users. */
@Module({
  imports: [
    AuthModule,
    CredentialsModule,
    EventsModule,
    IdempotencyModule,
    JobsModule,
    OperationsModule,
    RateLimitsModule,
    RolesModule,
    UserMailsModule,
    UsersModule,
  ],
  controllers: [UsersTransferController],
  providers: [
    UsersExportService,
    UsersExportRepository,
    ExportLinksService,
    ExportLinksRepository,
    UsersImportService,
    ImportRowsService,
    UsersImportRepository,
  ],
})
export class UsersTransferModule {}
