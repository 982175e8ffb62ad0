// Keeps a copy of the users in SQLite: all users first, then each change.
import { createIdentity, followUsers } from '@carrier-identity/client';
import Database from 'libsql';

const { IDENTITY_URL = '', IDENTITY_KEY = '', DATABASE = 'users.db' } = process.env;
const db = new Database(DATABASE);
db.exec('create table if not exists users (user_id text primary key, name text, email text, carrier_id text)');
db.exec('create table if not exists place (cursor text)');
const { cursor: after } = (db.prepare('select cursor from place').get() ?? {}) as { cursor?: string };

for await (const batch of followUsers(createIdentity({ url: IDENTITY_URL, key: IDENTITY_KEY }), { after }))
  db.transaction(() => {
    if (batch.restart) db.exec('delete from users; delete from place');
    for (const { user_id, name, email, carrier_id } of batch.users)
      db.prepare('insert or replace into users values (?, ?, ?, ?)').run(user_id, name, email, carrier_id);
    for (const user_id of batch.deleted) db.prepare('delete from users where user_id = ?').run(user_id);
    if (batch.cursor) db.prepare('insert or replace into place (rowid, cursor) values (1, ?)').run(batch.cursor);
  })();
