import { Module } from '@nestjs/common';
import { EventsModule } from '../../audit/events.module';
import { RoleChangesService } from './role-changes.service';
import { RolesController } from './roles.controller';
import { RolesRepository } from './roles.repository';
import { RolesService } from './roles.service';

/** Provides roles. */
@Module({
  imports: [EventsModule],
  controllers: [RolesController],
  providers: [RolesService, RoleChangesService, RolesRepository],
  exports: [RolesService],
})
export class RolesModule {}
