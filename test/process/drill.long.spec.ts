import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';

const script = join(__dirname, '../../deploy/ha/drill.js');

describe('a failover of the database', () => {
  it('loses no acknowledged write, and lets no instance of an old primary accept ended sessions (F40)', async () => {
    const drill = spawn(process.execPath, [script, '--short'], { stdio: ['ignore', 'pipe', 'pipe'] });
    const [table, log, [code]] = await Promise.all([text(drill.stdout), text(drill.stderr), once(drill, 'exit')]);
    expect({ code, log }).toEqual({ code: 0, log: expect.not.stringContaining('MISSED') });
    expect(table.split('\n').filter((line) => /^\| (switchover|kill -9|zombie)/.test(line))).toHaveLength(3);
  });
});
