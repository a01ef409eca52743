// SPDX-License-Identifier: Apache-2.0
/// Teams and addresses of the device interface. Teams are those of the communicator that a kernel got;
/// addresses are absent (absent.h).
/// Tests: tests/api/device_headers_test.py
#ifndef NCCL_DEVICE_POINTERS_H_
#define NCCL_DEVICE_POINTERS_H_

#include "absent.h"
#include "host.h"
#include "teams.h"

/* Stand for a team where a function knows the communicator. */
struct ncclTeamTagWorld {};
struct ncclTeamTagLsa {};
struct ncclTeamTagRail {};

#ifdef __CUDACC__
NCCL_DEVICE_INLINE ncclTeam ncclTeamWorld(ncclDevComm const& comm) { return {comm.nRanks, comm.rank, 1}; }
NCCL_DEVICE_INLINE ncclTeam ncclTeamLsa(ncclDevComm const& comm) { return {comm.lsaSize, comm.lsaRank, 1}; }
NCCL_DEVICE_INLINE ncclTeam ncclTeamRail(ncclDevComm const& comm) {
  return ncclTeamOuterFactor(ncclTeamWorld(comm), comm.lsaSize);
}
NCCL_DEVICE_INLINE ncclTeam ncclTeamCft(ncclDevComm const& comm, ncclCftTeamMode_t = NCCL_CFT_TEAM_FLAT) {
  return {comm.cftSize, comm.cftRank, 1};
}
NCCL_DEVICE_INLINE ncclTeam ncclTeamCftMultimem(ncclDevComm const& comm) {
  return {comm.cftMultimemSize, comm.cftMultimemRank, 1};
}
NCCL_DEVICE_INLINE int ncclTeamRankToWorld(ncclDevComm const& comm, ncclTeam team, int rank) {
  return ncclTeamRankToTeam(ncclTeamWorld(comm), team, rank);
}
NCCL_DEVICE_INLINE int ncclTeamRankToLsa(ncclDevComm const& comm, ncclTeam team, int rank) {
  return ncclTeamRankToTeam(ncclTeamLsa(comm), team, rank);
}

/* ---- Addresses of windows and of the communicator's buffers ---- */

NCCL_DEVICE_INLINE void* ncclGetLocalPointer(ncclWindow_t, size_t) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetLsaPointer(ncclWindow_t, size_t, int) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetPeerPointer(ncclWindow_t, size_t, int) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetPeerPointer(ncclWindow_t, size_t, ncclTeam, int) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetMultimemPointer(ncclWindow_t, size_t, ncclMultimemHandle) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetLsaMultimemPointer(ncclWindow_t, size_t, ncclDevComm const&) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void ncclGetCftLeInfo(ncclWindow_t, size_t, int, ncclTeam, ncclDevComm const&,
                                         ncclCftLeId*, size_t*) {
  weir::nccl_device::absent<void>();
}
NCCL_DEVICE_INLINE void ncclGetPeerLeInfo(ncclWindow_t, size_t, int, ncclDevComm const&, ncclCftLeId*,
                                          size_t*) {
  weir::nccl_device::absent<void>();
}
NCCL_DEVICE_INLINE void ncclGetMultimemLeInfo(ncclWindow_t, size_t, ncclDevComm const&, ncclCftLeId*,
                                              size_t*) {
  weir::nccl_device::absent<void>();
}
NCCL_DEVICE_INLINE void* ncclGetResourceBufferLocalPointer(ncclDevComm const&, ncclDevResourceHandle) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetResourceBufferLsaPointer(ncclDevComm const&, ncclDevResourceHandle, int) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetResourceBufferPeerPointer(ncclDevComm const&, ncclDevResourceHandle, ncclTeam,
                                                          int) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetResourceBufferMultimemPointer(ncclDevComm const&, ncclDevResourceHandle,
                                                              ncclMultimemHandle) {
  return weir::nccl_device::absent<void*>();
}
NCCL_DEVICE_INLINE void* ncclGetResourceBufferLsaMultimemPointer(ncclDevComm const&, ncclDevResourceHandle) {
  return weir::nccl_device::absent<void*>();
}
#endif

/* An address in a window, of any rank. */
template <typename T>
struct ncclSymPtr {
  using ElementType = T;
  ncclWindow_t window;
  size_t offset; /* bytes */

  NCCL_HOST_DEVICE_INLINE constexpr ncclSymPtr(ncclWindow_t in = nullptr, size_t at = 0)
      : window(in), offset(at) {}
  template <typename U>
  NCCL_HOST_DEVICE_INLINE operator ncclSymPtr<U>() const {
    return {window, offset};
  }
  template <typename Int>
  NCCL_HOST_DEVICE_INLINE ncclSymPtr& operator+=(Int elements) {
    offset += static_cast<size_t>(elements) * sizeof(T);
    return *this;
  }
  template <typename Int>
  NCCL_HOST_DEVICE_INLINE ncclSymPtr& operator-=(Int elements) {
    offset -= static_cast<size_t>(elements) * sizeof(T);
    return *this;
  }
#ifdef __CUDACC__
  NCCL_DEVICE_INLINE T* localPtr() const { return weir::nccl_device::absent<T*>(); }
  NCCL_DEVICE_INLINE T* lsaPtr(int) const { return weir::nccl_device::absent<T*>(); }
  NCCL_DEVICE_INLINE T* peerPtr(int) const { return weir::nccl_device::absent<T*>(); }
  NCCL_DEVICE_INLINE T* peerPtr(ncclTeam, int) const { return weir::nccl_device::absent<T*>(); }
  NCCL_DEVICE_INLINE T* multimemPtr(ncclMultimemHandle) const { return weir::nccl_device::absent<T*>(); }
  NCCL_DEVICE_INLINE T* lsaMultimemPtr(ncclDevComm const&) const { return weir::nccl_device::absent<T*>(); }
#endif
};
template <typename T, typename Int>
NCCL_HOST_DEVICE_INLINE ncclSymPtr<T> operator+(ncclSymPtr<T> pointer, Int elements) {
  return pointer += elements;
}
template <typename T, typename Int>
NCCL_HOST_DEVICE_INLINE ncclSymPtr<T> operator-(ncclSymPtr<T> pointer, Int elements) {
  return pointer -= elements;
}
template <typename T>
NCCL_HOST_DEVICE_INLINE ptrdiff_t operator-(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return (static_cast<ptrdiff_t>(a.offset) - static_cast<ptrdiff_t>(b.offset)) /
         static_cast<ptrdiff_t>(sizeof(T));
}
template <typename T>
NCCL_HOST_DEVICE_INLINE bool operator==(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return a.window == b.window && a.offset == b.offset;
}
template <typename T>
NCCL_HOST_DEVICE_INLINE bool operator!=(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return !(a == b);
}

#ifdef __CUDACC__
NCCL_DEVICE_INLINE ncclSymPtr<char> ncclGetResourceBuffer(ncclDevComm const& comm, ncclDevResourceHandle h) {
  return {comm.resourceWindow, ncclGetResourceBufferOffset(h)};
}
#endif

#endif /* NCCL_DEVICE_POINTERS_H_ */
