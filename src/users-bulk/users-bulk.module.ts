import { Module } from '@nestjs/common';
import { IdempotencyModule } from '../idempotency/idempotency.module';
import { LoginsModule } from '../logins/logins.module';
import { RateLimitsModule } from '../rate-limits/rate-limits.module';
import { OperationsModule } from '../operations/operations.module';
import { UsersModule } from '../users/users.module';
import { FoundUsersService } from './found-users.service';
import { UndoController } from './undo.controller';
import { UsersBulkController } from './users-bulk.controller';
import { UsersBulkService } from './users-bulk.service';

/** Change and delete what was found, and undo it. */
@Module({
  imports: [IdempotencyModule, LoginsModule, OperationsModule, RateLimitsModule, UsersModule],
  controllers: [UsersBulkController, UndoController],
  providers: [UsersBulkService, FoundUsersService],
})
export class UsersBulkModule {}
