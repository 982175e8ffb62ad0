import { focusManager } from '@tanstack/react-query';

/** Milliseconds without input after which the console neither polls nor refreshes. */
const idleAfterMs = 5 * 60_000;
const inputs = ['pointerdown', 'keydown', 'wheel', 'touchstart', 'input'] as const;

// No input yet: the first `noteInput` must not return early, because it starts the timer.
let lastInputAt = -Infinity;
let timer = 0;
let pointerPosition = '';
const listeners = new Set<(active: boolean) => void>();

/** Returns whether the tab is visible and had input within the last 5 minutes. */
export function isActive(): boolean {
  return document.visibilityState === 'visible' && Date.now() - lastInputAt < idleAfterMs;
}

/** Calls a function when the tab becomes active or idle, and after input, at most once a second. */
export function onActivity(listener: (active: boolean) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function notify(): void {
  const active = isActive();
  for (const listener of [...listeners]) listener(active);
}

function noteInput(): void {
  const wasActive = isActive();
  // Pointer moves are frequent.
  if (wasActive && Date.now() - lastInputAt < 1_000) return;
  lastInputAt = Date.now();
  clearTimeout(timer);
  timer = window.setTimeout(noteIdle, idleAfterMs);
  notify();
}

/** Ignores moves that browsers report when the page changes below a resting pointer. */
function noteMove({ screenX, screenY }: PointerEvent): void {
  const position = `${screenX} ${screenY}`;
  if (position === pointerPosition) return;
  pointerPosition = position;
  noteInput();
}

function noteIdle(): void {
  const left = lastInputAt + idleAfterMs - Date.now();
  // Timers may fire slightly early by `Date.now()`.
  if (left > 0) timer = window.setTimeout(noteIdle, left);
  else notify();
}

/**
 * Watches input and visibility. Queries poll only while the tab is active: TanStack Query treats
 * an idle tab as a tab without focus.
 */
export function watchActivity(): void {
  focusManager.setEventListener((setFocused) => onActivity((active) => setFocused(active)));
  for (const input of inputs) window.addEventListener(input, noteInput, { passive: true, capture: true });
  window.addEventListener('pointermove', noteMove, { passive: true, capture: true });
  document.addEventListener('visibilitychange', () => (isActive() ? noteInput() : notify()));
  noteInput();
}
