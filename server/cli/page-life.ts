/** How long a sign-in page that is open may be sealed with a key that no longer seals. */
export const pageSeconds = 3600

/** A moment for people: to the minute, in UTC. */
export function timeText(seconds: number): string {
  return new Date(Math.ceil(seconds / 60) * 60_000).toISOString().replace(/:\d\d\.\d+Z$/, 'Z')
}
