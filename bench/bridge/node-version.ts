/** A Node that runs bridges. */
export interface NodeVersion {
  /** Its name in figures. */
  name: string
  path: string
}

/** The pinned Node, which runs the bench. */
export const pinnedNode: NodeVersion = { name: `Node ${process.versions.node}`, path: process.execPath }
