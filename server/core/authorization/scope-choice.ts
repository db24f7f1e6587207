/** A requested scope that the user can leave out. */
export interface ScopeBox {
  scope: string
  ticked: boolean
}

/** What a user chose for a client before: the scope that it has now, and the scopes that were left out. */
export interface EarlierChoice {
  held: string
  refused: readonly string[]
}

/**
 * Offers the `optional` scopes of a request, except those that the client has already: a step-up shows only what is new. All are
 * ticked but those that the user left out before.
 */
export function offerScopes(optional: readonly string[], earlier: EarlierChoice | undefined): ScopeBox[] {
  const held = earlier?.held.split(' ') ?? []
  return optional
    .filter((scope) => !held.includes(scope))
    .map((scope) => ({ scope, ticked: earlier?.refused.includes(scope) !== true }))
}

/**
 * Returns what is left of `asked` when a user saw a box for each of `offered` and ticked `posted`. Undefined if that names a scope
 * that was not asked for.
 */
export function chosenScope(
  asked: string,
  offered: readonly string[],
  posted: readonly string[],
): string | undefined {
  const all = asked.split(' ')
  if (posted.some((scope) => !all.includes(scope))) return undefined
  return all.filter((scope) => posted.includes(scope) || !offered.includes(scope)).join(' ')
}
