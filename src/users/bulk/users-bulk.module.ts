import { Module } from '@nestjs/common';
import { AuthModule } from '../../auth/auth.module';
import { IdempotencyModule } from '../../http/idempotency/idempotency.module';
import { RateLimitsModule } from '../../access/rate-limits/rate-limits.module';
import { OperationsModule } from '../operations/operations.module';
import { UsersModule } from '../users.module';
import { BulkChangesService } from './bulk-changes.service';
import { UndoController, UsersBulkController } from './users-bulk.controller';
import { UsersBulkRepository } from './users-bulk.repository';
import { UsersBulkService } from './users-bulk.service';

/** Changes and deletes many users at once, and undoes bulk changes. */
@Module({
  imports: [AuthModule, IdempotencyModule, OperationsModule, RateLimitsModule, UsersModule],
  controllers: [UsersBulkController, UndoController],
  providers: [UsersBulkService, BulkChangesService, UsersBulkRepository],
})
export class UsersBulkModule {}
