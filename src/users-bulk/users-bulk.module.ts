import { Module } from '@nestjs/common';
import { UsersModule } from '../users/users.module';
import { UsersBulkController } from './users-bulk.controller';
import { UsersBulkService } from './users-bulk.service';

/** Change and delete what was found. */
@Module({ imports: [UsersModule], controllers: [UsersBulkController], providers: [UsersBulkService] })
export class UsersBulkModule {}
