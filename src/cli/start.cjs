#!/usr/bin/env node
'use strict'

require('../node-version.cjs')
// A young generation that stays small: with a large one the buffers of a backup, which are garbage at once, wait for
// their collection and take 200 MB.
require('node:v8').setFlagsFromString('--semi-space-growth-factor=1')
import('./index.ts')
