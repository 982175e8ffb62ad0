import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller';
import { DocsService } from './docs.service';

/** Serves the pages about error codes. */
@Module({ controllers: [DocsController], providers: [DocsService] })
export class DocsModule {}
