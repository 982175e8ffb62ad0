import { AbstractLogger } from 'typeorm';
import type { StartLog } from './migration-lock';

/** Length of the statement text in a log line. */
const shownCharacters = 100;

/** Logs the slow statements of migrations, so that operators see how long each step took. */
export class SlowStatementLog extends AbstractLogger {
  constructor(private readonly lines: StartLog) {
    super(false);
  }

  override logQuerySlow(ms: number, statement: string): void {
    const text = statement.replaceAll(/\s+/g, ' ').trim();
    this.lines.log(`took ${Math.round(ms)} ms: ${text.slice(0, shownCharacters)}`);
  }

  protected override writeLog(): void {
    // The caller logs the errors of migrations.
  }
}
