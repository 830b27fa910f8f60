//===- LaunchEnvironmentTest.cpp - Which rank a process is ----------------===//
//
// Part of Regather, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Store/LaunchEnvironment.h"
#include "../FailureMessage.h"

#include "gtest/gtest.h"

#include <map>

using namespace regather::runtime;
using regather::Result;

namespace {

using Variables = std::map<std::string, std::string>;

LaunchEnvironment::Reader getReader(const Variables &variables) {
  return [&variables](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

LaunchEnvironment read(const Variables &variables) {
  Result<LaunchEnvironment> environment =
      LaunchEnvironment::read(getReader(variables));
  EXPECT_EQ(getMessage(environment), "");
  return environment ? *environment : LaunchEnvironment();
}

std::string fail(const Variables &variables) {
  return getMessage(LaunchEnvironment::read(getReader(variables)));
}

const Variables torchrun = {{"RANK", "5"},
                            {"LOCAL_RANK", "1"},
                            {"WORLD_SIZE", "8"},
                            {"MASTER_ADDR", "node1"},
                            {"MASTER_PORT", "29400"},
                            {"TORCHELASTIC_RESTART_COUNT", "2"}};

TEST(LaunchEnvironmentTest, IsOneRankWithoutLauncher) {
  LaunchEnvironment environment = read({});
  EXPECT_EQ(environment.rank, 0);
  EXPECT_EQ(environment.ranks, 1);
}

TEST(LaunchEnvironmentTest, ReadsTorchrun) {
  LaunchEnvironment environment = read(torchrun);
  EXPECT_EQ(environment.rank, 5);
  EXPECT_EQ(environment.ranks, 8);
  EXPECT_EQ(environment.localRank, 1);
  EXPECT_EQ(environment.address, "node1");
  EXPECT_EQ(environment.port, 29400);
  EXPECT_EQ(environment.restart, 2);
}

// There, the port belongs to the store of torchrun.
TEST(LaunchEnvironmentTest, LeavesThePortOfTheAgentAlone) {
  Variables variables = torchrun;
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  EXPECT_EQ(read(variables).port, 29401);
  variables["MASTER_PORT"] = "65535";
  EXPECT_EQ(read(variables).port, 65534);
}

const Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "3"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                          {"PMIX_NAMESPACE", "1234567"},
                          // It runs under Slurm, which says something else.
                          {"SLURM_PROCID", "0"},
                          {"SLURM_NTASKS", "1"}};

TEST(LaunchEnvironmentTest, ReadsOpenMpi) {
  Variables variables = mpirun;
  LaunchEnvironment environment = read(variables);
  EXPECT_EQ(environment.rank, 3);
  EXPECT_EQ(environment.ranks, 4);
  EXPECT_EQ(environment.localRank, 3);
  EXPECT_EQ(environment.address, "127.0.0.1");
  EXPECT_EQ(environment.port, read(variables).port);
  int32_t port = environment.port;
  variables["PMIX_NAMESPACE"] = "1234568";
  EXPECT_NE(read(variables).port, port);
  variables["MASTER_PORT"] = "1111";
  EXPECT_EQ(read(variables).port, 1111);
}

TEST(LaunchEnvironmentTest, WantsAnAddressForSeveralNodes) {
  Variables variables = mpirun;
  variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_EQ(fail(variables),
            "the ranks are on several nodes, so MASTER_ADDR has to say the "
            "address of rank 0, as by 'mpirun -x MASTER_ADDR=...'");
  variables["MASTER_ADDR"] = "10.0.0.1";
  EXPECT_EQ(read(variables).address, "10.0.0.1");
}

TEST(LaunchEnvironmentTest, ReadsSlurm) {
  Variables variables = {
      {"SLURM_PROCID", "9"},  {"SLURM_NTASKS", "16"},
      {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "77"},
      {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_NODELIST", "gpu[03-04]"}};
  LaunchEnvironment environment = read(variables);
  EXPECT_EQ(environment.rank, 9);
  EXPECT_EQ(environment.ranks, 16);
  EXPECT_EQ(environment.localRank, 1);
  EXPECT_EQ(environment.address, "gpu03");
  EXPECT_GE(environment.port, 20000);
  EXPECT_LT(environment.port, 30000);
  variables["SLURM_STEP_ID"] = "1";
  EXPECT_NE(read(variables).port, environment.port);
}

// By it ranks are told from strangers.
TEST(LaunchEnvironmentTest, KnowsTheTokenOfTheJob) {
  EXPECT_EQ(read(torchrun).token, "");
  Variables variables = torchrun;
  variables["TORCHELASTIC_RUN_ID"] = "7";
  EXPECT_EQ(read(variables).token, "7");
  EXPECT_EQ(read(mpirun).token, "1234567");
  variables["REGATHER_JOB_TOKEN"] = "secret";
  EXPECT_EQ(read(variables).token, "secret");
  variables["REGATHER_JOB_TOKEN"] = std::string(513, 'x');
  EXPECT_EQ(fail(variables), "REGATHER_JOB_TOKEN has 513 characters, expected "
                             "at most 512");
}

TEST(LaunchEnvironmentTest, KnowsWhereToListen) {
  EXPECT_EQ(read(torchrun).getListenAddress(), read(torchrun).address);
  Variables variables = torchrun;
  variables["REGATHER_LISTEN_ADDRESS"] = "10.1.2.3";
  EXPECT_EQ(read(variables).getListenAddress(), "10.1.2.3");
  EXPECT_EQ(read(variables).address, read(torchrun).address);
}

TEST(LaunchEnvironmentTest, FindsTheFirstNode) {
  EXPECT_EQ(getFirstNode("node1"), "node1");
  EXPECT_EQ(getFirstNode("a,b"), "a");
  EXPECT_EQ(getFirstNode("n[07-09,12],x"), "n07");
  EXPECT_EQ(getFirstNode("n[7]"), "n7");
  EXPECT_EQ(getFirstNode("x,n[7-8]"), "x");
  EXPECT_EQ(getFirstNode("rack[1-2]n[3-4].cluster"), "rack1n3.cluster");
  EXPECT_EQ(getFirstNode("n["), "n");
  EXPECT_EQ(getFirstNode(""), "");
}

TEST(LaunchEnvironmentTest, NamesWhatIsWrong) {
  Variables variables = torchrun;
  variables["RANK"] = "8";
  EXPECT_EQ(fail(variables), "RANK is '8', expected a number from 0 to 7");
  variables["WORLD_SIZE"] = "many";
  EXPECT_EQ(fail(variables),
            "WORLD_SIZE is 'many', expected a number from 1 to 1048575");
  variables.erase("WORLD_SIZE");
  EXPECT_EQ(fail(variables),
            "WORLD_SIZE is not set, expected a number from 1 to 1048575");
  variables = torchrun;
  variables["MASTER_PORT"] = "0";
  EXPECT_EQ(fail(variables),
            "MASTER_PORT is '0', expected a number from 1 to 65535");
}

} // namespace
