const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]

/** A number of seconds for people, in its largest unit and the one below it: `59 min`, `1 h 5 min`, `0 s`. */
export function durationText(seconds: number): string {
  let left = Math.max(0, Math.round(seconds))
  const parts: string[] = []
  for (const [size, name] of units) {
    const count = Math.floor(left / size)
    if (parts.length === 1) {
      if (count > 0) parts.push(`${count} ${name}`)
      break
    }
    if (count > 0) parts.push(`${count} ${name}`)
    left %= size
  }
  return parts.length === 0 ? '0 s' : parts.join(' ')
}
