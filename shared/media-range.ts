/** The media ranges of an `Accept` header (RFC 9110 section 12.5.1), in lower case and without their parameters, with their weights. */
export type MediaRanges = ReadonlyMap<string, number>

/** Reads an `Accept` header. Without one, everything is accepted. Only the first 1024 characters count. */
export function readMediaRanges(accept: string | null): MediaRanges {
  if (!accept?.trim()) return new Map([['*/*', 1]])
  // A comma or a weight in quotes is part of another parameter.
  const all = accept
    .slice(0, 1024)
    .replaceAll(/"[^"]*"/g, '')
    .split(',')
    .map(readRange)
  // A type may be there several times, with different parameters.
  return new Map(all.toSorted(([, one], [, other]) => one - other))
}

/** Returns the weight of a media type, from the most specific range; 0 if it is not accepted. */
export function weightOf(ranges: MediaRanges, type: string): number {
  return ranges.get(type) ?? ranges.get(`${type.split('/')[0]}/*`) ?? ranges.get('*/*') ?? 0
}

function readRange(range: string): readonly [type: string, weight: number] {
  const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
  return [type, weight === undefined ? 1 : Number(weight) || 0]
}
