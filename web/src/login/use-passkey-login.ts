import { useCallback, useEffect, useRef, useState } from 'react';
import type { components } from '../api/schema';
import { sessionRequests, type SessionTokens } from '../session/session-requests';
import { askForPasskey, cancelPasskeyPrompt, canUsePasskeys, offerPasskeys } from './passkeys';

type Options = components['schemas']['PasskeyOptionsResponse'];

interface PasskeyLogin {
  /**
   * Asks for a passkey; null if passkeys do not work here.
   * @throws ApiProblem `passkey.not_used` if the user cancels
   */
  start: (() => Promise<SessionTokens>) | null;
}

/**
 * Offers passkeys in the field for the login name, and for a button.
 * Reads the options in advance: some browsers allow the prompt only directly after a click.
 */
export function usePasskeyLogin(
  isOffered: boolean,
  onTokens: (tokens: SessionTokens) => void,
  onProblem: (problem: unknown) => void,
): PasskeyLogin {
  const [options, setOptions] = useState<Options | null>(null);
  const latest = useRef({ onTokens, onProblem });
  useEffect(() => {
    latest.current = { onTokens, onProblem };
  });

  const send = useCallback(async (current: Options, passkey: object): Promise<SessionTokens> => {
    try {
      return await sessionRequests.passkeyLogin(current.challenge, passkey);
    } finally {
      // A challenge is valid once.
      setOptions(await sessionRequests.passkeyOptions().catch(() => null));
    }
  }, []);

  useEffect(() => {
    if (!isOffered || !canUsePasskeys) return;
    let isCurrent = true;
    void sessionRequests
      .passkeyOptions()
      .then((read) => isCurrent && setOptions(read))
      // The service rejects the request if passkeys are disabled.
      .catch(() => undefined);
    return () => {
      isCurrent = false;
      cancelPasskeyPrompt();
    };
  }, [isOffered]);

  useEffect(() => {
    if (options === null || !isOffered) return;
    const offer = async () => {
      const passkey = await offerPasskeys(options);
      if (passkey !== null) latest.current.onTokens(await send(options, passkey));
    };
    offer().catch((problem: unknown) => latest.current.onProblem(problem));
  }, [options, isOffered, send]);

  return { start: options === null ? null : async () => send(options, await askForPasskey(options)) };
}
