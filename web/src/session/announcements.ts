import { apiPath } from '../api/base';

/** A message to the other tabs. It never contains a token. */
export type Announcement = { kind: 'logged-in' } | { kind: 'logged-out' } | { kind: 'renewed'; endsAt: number };

const channel = new BroadcastChannel(`carrier-identity ${apiPath}`);

/** Sends an announcement to the other tabs of this console. */
export function announce(announcement: Announcement): void {
  channel.postMessage(announcement);
}

/** Calls a function for each announcement of another tab. */
export function onAnnouncement(listener: (announcement: Announcement) => void): void {
  channel.addEventListener('message', ({ data }: MessageEvent<Announcement>) => listener(data));
}
