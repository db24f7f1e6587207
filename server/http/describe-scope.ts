import type { ScopeCatalogue } from '../core/tokens/scope.ts'
import type { Language } from '../texts/language.ts'
import { fillText } from '../texts/text.ts'

/** Describes what `scope` allows, one text per scope: the tool scope's in the page's language, others as configured. */
export function describeScope(scope: string, scopes: ScopeCatalogue, { texts }: Language): string[] {
  const { ownTools, toolsOf } = texts.permissions
  const { toolsOf: name } = scopes
  return scopes.describe(scope, name === undefined ? ownTools : fillText(toolsOf, { name }))
}
