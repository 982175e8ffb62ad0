import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller';
import { DocsService } from './docs.service';

/** Pages about the interface. */
@Module({ controllers: [DocsController], providers: [DocsService] })
export class DocsModule {}
