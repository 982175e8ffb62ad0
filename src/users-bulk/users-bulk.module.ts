import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { LoginsModule } from '../logins/logins.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { OperationsModule } from '../operations/operations.module';
import { UsersModule } from '../users/users.module';
import { BulkChangesService } from './bulk-changes.service';
import { UndoController } from './undo.controller';
import { UsersBulkController } from './users-bulk.controller';
import { UsersBulkRepository } from './users-bulk.repository';
import { UsersBulkService } from './users-bulk.service';

/** Changes and deletes many users at once, and undoes bulk changes. */
@Module({
  imports: [IdempotencyModule, LoginsModule, OperationsModule, RateLimitsModule, UsersModule],
  controllers: [UsersBulkController, UndoController],
  providers: [UsersBulkService, BulkChangesService, UsersBulkRepository],
})
export class UsersBulkModule {}
