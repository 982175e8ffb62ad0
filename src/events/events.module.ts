import { Module } from '@nestjs/common';
import { AuditController } from './audit.controller';
import { EventsRepository } from './events.repository';
import { EventsService } from './events.service';

/** The append-only audit log. */
@Module({ controllers: [AuditController], providers: [EventsService, EventsRepository], exports: [EventsService] })
export class EventsModule {}
