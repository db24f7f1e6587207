const SECONDS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
}

/** Parses a Go duration such as `876000h` or `1h30m` into seconds; undefined for anything else. */
export function parseGoDuration(text: string): number | undefined {
  if (/^[+-]?0$/.test(text)) return 0
  const parts = /^([+-]?)((?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+)$/.exec(text)
  if (parts === null) return undefined
  const seconds = [...(parts[2] ?? '').matchAll(/([\d.]+)([a-zµ]+)/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (SECONDS[unit] ?? 0),
    0,
  )
  return parts[1] === '-' ? -seconds : seconds
}
