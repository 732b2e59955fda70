/* The one place that says which version this is. */
#ifndef HOLDFAST_BASE_VERSION_H
#define HOLDFAST_BASE_VERSION_H

#define HOLDFAST_VERSION "0.1.0"

#endif
