/** Sends each probe and returns the unexpected responses as text. */
export async function unexpectedResponses<Probe>(
  probes: Iterable<Probe>,
  label: (probe: Probe) => string,
  run: (probe: Probe) => Promise<{ status: number; text: string }>,
  demanded: (answer: { status: number; text: string }) => boolean,
): Promise<string[]> {
  const found: string[] = [];
  for (const probe of probes) {
    const answer = await run(probe);
    if (!demanded(answer)) found.push(`${label(probe)} → ${answer.status} ${answer.text.slice(0, 200)}`);
  }
  return found;
}
