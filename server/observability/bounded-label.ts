/**
 * Creates a function that returns the first `max` different values as they are, and `other` for every one after them: so many series
 * does a label make, whatever clients and upstreams send.
 */
export function createBoundedLabel(max: number, other = 'other'): (value: string) => string {
  const values = new Set<string>()
  return (value) => {
    if (values.size < max) values.add(value)
    return values.has(value) ? value : other
  }
}

/** More tools than servers usually offer; a module may register others for each caller. */
export const maxToolLabels = 500
