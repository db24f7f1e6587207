import type { RequirementDocument } from '../requirement.ts'

/** Every document whose rules are kept, in the order of `docs/conformance.md`. */
export const requirementDocuments: readonly RequirementDocument[] = []
