import { createHash } from 'node:crypto';
import { Inject, Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CONFIG, type Config, ConfigError } from '../../config/config';
import { BreachedFile, BreachedFileError } from './breached-file';

/**
 * Time in which the start checks the filters of the file. Two seconds are enough for about 1 GB in
 * the cache of the operating system.
 */
const checkMs = 2_000;

/** Looks up passwords in `BREACHED_PASSWORDS_FILE`. No request leaves the machine. */
@Injectable()
export class BreachedPasswords implements OnModuleInit, OnApplicationShutdown {
  private file: BreachedFile | null = null;

  constructor(@Inject(CONFIG) private readonly config: Config) {}

  /** @throws ConfigError if the file is missing or damaged */
  async onModuleInit(): Promise<void> {
    const { BREACHED_PASSWORDS_FILE: path } = this.config;
    if (path === undefined) return;
    this.file = await BreachedFile.open(path, checkMs).catch((error: unknown) => {
      if (error instanceof BreachedFileError) throw new ConfigError([`BREACHED_PASSWORDS_FILE: ${error.message}`]);
      throw error;
    });
  }

  /** Returns whether a password is known to attackers. Returns false if no file is configured. */
  async has(password: string): Promise<boolean> {
    // SHA-1 is the format of the published lists. The service stores no such hash.
    return this.file?.has(createHash('sha1').update(password).digest()) ?? false;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.file?.close();
  }
}
