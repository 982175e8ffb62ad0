import { focusManager } from '@tanstack/react-query';

/** Milliseconds without input after which the console neither polls nor refreshes. */
const idleAfterMs = 5 * 60_000;
const inputs = ['pointerdown', 'keydown', 'wheel', 'touchstart', 'input'] as const;

// No input yet: the first `noteInput` must not return early, because it starts the timer.
let lastInputAt = -Infinity;
let timer = 0;
let pointer = '';
const listeners = new Set<(active: boolean) => void>();

/** Returns whether the tab is visible and had input within the last 5 minutes. */
export function isActive(): boolean {
  return document.visibilityState === 'visible' && Date.now() - lastInputAt < idleAfterMs;
}

/** Calls a function when the tab becomes active or idle, and after input. */
export function onActivity(listener: (active: boolean) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell(): void {
  const active = isActive();
  for (const listener of [...listeners]) listener(active);
}

function noteInput(): void {
  const wasActive = isActive();
  // Once a second is enough, and pointer moves are many.
  if (wasActive && Date.now() - lastInputAt < 1_000) return;
  lastInputAt = Date.now();
  clearTimeout(timer);
  timer = window.setTimeout(noteIdle, idleAfterMs);
  tell();
}

/** Browsers also report a move when the page changes below a pointer that rests. */
function noteMove({ screenX, screenY }: PointerEvent): void {
  const place = `${screenX} ${screenY}`;
  if (place === pointer) return;
  pointer = place;
  noteInput();
}

function noteIdle(): void {
  const left = lastInputAt + idleAfterMs - Date.now();
  // Timers may fire a little early, by the clock of the computer.
  if (left > 0) timer = window.setTimeout(noteIdle, left);
  else tell();
}

/**
 * Watches input and visibility. Queries poll only while the tab is active: TanStack Query treats
 * an idle tab as a tab without focus.
 */
export function watchActivity(): void {
  focusManager.setEventListener((setFocused) => onActivity((active) => setFocused(active)));
  for (const input of inputs) window.addEventListener(input, noteInput, { passive: true, capture: true });
  window.addEventListener('pointermove', noteMove, { passive: true, capture: true });
  document.addEventListener('visibilitychange', () => (isActive() ? noteInput() : tell()));
  noteInput();
}
